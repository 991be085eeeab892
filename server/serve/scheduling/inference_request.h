// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_INFERENCE_REQUEST_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_INFERENCE_REQUEST_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "models/attention_maps.h"
#include "models/features.h"
#include "models/token_layout.h"
#include "server/observe/model_metrics.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/message_bytes.h"
#include "server/trace/request_trace.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Flag that the transport sets when the client cancels or disconnects; the scheduler then drops the request.
using CancelFlag = std::shared_ptr<std::atomic<bool>>;

// A validated request on its way to an executor. PlanRequest makes it and rejects faulty requests. A fault inside the
// image or the tensor's values is found only later.
struct InferenceRequest {
  ModelHandle model;
  v1::ClassifyRequest request;  // message without the bytes of its image or tensor
  std::string_view input;       // bytes of the image or tensor, as received
  MessageBytes owner;           // owner of `input`; null if `input` is in static memory
  Geometry geometry;            // for a normalized tensor: the whole tensor, unchanged
  Grid grid;
  int64_t tokens = 0;                           // number of tokens of the image, including the prefix tokens
  int top_k = 0;                                // 0: the answer has no predictions
  std::vector<v1::AttentionRequest> attention;  // resolved: layers and heads are explicit and in range
  std::vector<v1::FeatureRequest> features;     // resolved, like `attention`
  // Bytes of attention and features in the answer. An upper limit if there are overlays, whose size is not known yet.
  int64_t answer_bytes = 0;
  int64_t most_message_bytes = std::numeric_limits<int64_t>::max();  // largest answer that the client accepts
  // Total pixels of the overlays to draw.
  int64_t overlay_pixels = 0;

  bool is_routed = false;  // true: the traffic's shares chose the version; false: the client named it
  bool is_probe = false;   // true: sent by the server itself (see compute_probe.h); not in latency histograms
  std::string caller;      // Caller::Account, under which the caller's share and quota are counted
  absl::Time arrival;      // time of the monotonic clock (see server/process/clock.h)
  absl::Time deadline = absl::InfiniteFuture();
  CancelFlag cancelled;  // null: cannot be cancelled
  // flag that is set when another image of the same call was rejected; null: there is no other image
  CancelFlag abandoned;
  // The answer time of a call's images is predicted once, when the first image is admitted. `images_behind`: number of
  // images after this one.
  bool is_first_of_call = true;
  int images_behind = 0;
  std::shared_ptr<Admitted> admitted;    // resources; the call's AnswerResources, if any, shares them; null: none
  Progress progress = Progress::kQueue;  // last stage reached: kCompute once the model has computed the request
  RequestTrace* trace = nullptr;         // recorder of the request's stages, kept alive by `done`; null: not traced

  // Called exactly once, from any thread, with the answer or the error. Must not block or throw.
  absl::AnyInvocable<void(absl::StatusOr<v1::ClassifyResponse>)> done;

  bool IsAbandoned() const { return abandoned != nullptr && abandoned->load(std::memory_order_acquire); }
  // Returns true if no client waits for the answer.
  bool IsCancelled() const {
    return IsAbandoned() || (cancelled != nullptr && cancelled->load(std::memory_order_acquire));
  }
  // Returns the size in bytes of the image or tensor that the client sent.
  int64_t InputBytes() const { return static_cast<int64_t>(input.size()); }
  // Returns the number of pixels of the decoded image or of the tensor, according to its header or shape.
  int64_t InputPixels() const { return int64_t{geometry.original.height} * geometry.original.width; }
  // Ends the request; this is the only way to end it. Removes its cost from the predicted work, counts it if it expired
  // or was cancelled, then calls `done`. Its resources are given back before `done`, except if AnswerResources shares
  // them. An abandoned request that was dropped ends with AbandonedError; if it was not computed, its quota is given
  // back, because its caller must send it again.
  void Finish(absl::StatusOr<v1::ClassifyResponse> answer);
  // Ends a request that no executor has begun. Counts its waiting time until `now`.
  void EndWaiting(absl::Status why, absl::Time now);
};

// Call metadata in which a client sends the size of the largest message that it accepts.
inline constexpr char kMessageBytesMetadata[] = "max-receive-message-length";
// Returns RESOURCE_EXHAUSTED if `bytes` is above `most`; the message says what the client must change.
absl::Status CheckMessageBytes(int64_t bytes, int64_t most);
// Returns ABORTED: another image of the same call was rejected. The caller gets that image's error.
absl::Status AbandonedError();
// Returns UNAVAILABLE: the server is shutting down.
absl::Status DrainingError();

// An executor's result for one image, before it is converted to a message.
struct InferenceOutput {
  std::vector<float> logits;                         // [classes]; all values are finite
  std::vector<std::vector<AttentionMap>> attention;  // maps for each entry of InferenceRequest::attention
  std::vector<FeatureMap> features;                  // map for each entry of InferenceRequest::features
  v1::Timings timings;                               // timings of queue, decode and compute
  v1::BatchInfo batch;
  // The decoded, oriented image; null if no overlay was requested.
  std::shared_ptr<const Image> image;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_INFERENCE_REQUEST_H_
