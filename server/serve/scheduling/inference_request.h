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
#include "imaging/geometry.h"
#include "imaging/image.h"
#include "models/attention_maps.h"
#include "models/features.h"
#include "models/token_layout.h"
#include "server/models/registry/loaded_model.h"
#include "server/observe/model_metrics.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/message_bytes.h"
#include "server/trace/request_trace.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Set by the RPC side when the client leaves; read by the scheduler, which drops the request before compute.
using CancelFlag = std::shared_ptr<std::atomic<bool>>;

// A request that has been validated against its model and is on its way to an executor.
// Made by PlanRequest; everything that can be refused has been, but for damage inside the picture.
struct InferenceRequest {
  ModelHandle model;
  v1::ClassifyRequest request;  // without the bytes of its image or tensor
  std::string_view input;       // those bytes, as they were received
  MessageBytes owner;           // of them; null where they are of static memory
  Geometry geometry;            // of a normalised tensor: taken whole, as it is
  Grid grid;
  int64_t tokens = 0;                           // prefix included
  int top_k = 0;                                // 0: no predictions in the answer
  std::vector<v1::AttentionRequest> attention;  // resolved: layers and heads explicit and in range
  std::vector<v1::FeatureRequest> features;     // resolved
  // What attention and features will take in the answer; with overlays, whose size nobody knows, what they may take.
  int64_t answer_bytes = 0;
  int64_t most_message_bytes = std::numeric_limits<int64_t>::max();  // of the answer: largest that the client takes
  // Pixels of the overlays that will be drawn, over all of them.
  int64_t overlay_pixels = 0;

  bool is_routed = false;  // to the version that the traffic's shares chose; else the caller named it
  bool is_probe = false;   // the server's own (see compute_probe.h): in none of the histograms of answers
  std::string caller;      // Caller::Account: whose share and quota it counts against
  absl::Time arrival;      // monotonic, see server/process/clock.h
  absl::Time deadline = absl::InfiniteFuture();
  CancelFlag cancelled;                  // null: cannot be cancelled
  CancelFlag abandoned;                  // set when another picture of its batch was refused; null: there is none
  std::shared_ptr<Admitted> admitted;    // shared with the hold of its answer, if there is one; null: nothing is held
  Progress progress = Progress::kQueue;  // kCompute once the model has run on it
  RequestTrace* trace = nullptr;         // where its stages are noted; null: it is not traced. `done` keeps it

  // Called exactly once, from any thread, with the answer or the refusal. Must not block, nor throw.
  absl::AnyInvocable<void(absl::StatusOr<v1::ClassifyResponse>)> done;

  bool IsAbandoned() const { return abandoned != nullptr && abandoned->load(std::memory_order_acquire); }
  // Nobody waits for its answer.
  bool IsCancelled() const {
    return IsAbandoned() || (cancelled != nullptr && cancelled->load(std::memory_order_acquire));
  }
  // Bytes of the picture or tensor, as sent.
  int64_t InputBytes() const { return static_cast<int64_t>(input.size()); }
  // Pixels of the picture once decoded, or of the tensor: what its header or shape says.
  int64_t InputPixels() const { return int64_t{geometry.original.height} * geometry.original.width; }
  // Takes its work out of what is predicted, counts an expired or cancelled request, then calls `done`. The one way to
  // end a request. What was admitted is given back before `done` is called, unless the hold of the answer shares it.
  // One that was dropped because it is abandoned ends with AbandonedError, and what was not computed gives its part of
  // the quota back: its caller has to send it again.
  void Finish(absl::StatusOr<v1::ClassifyResponse> answer);
  // Ends a request that no executor has looked at: the time that it waited until `now` is counted.
  void EndWaiting(absl::Status why, absl::Time now);
};

// Metadata of a call by which a client says how large messages it takes.
inline constexpr char kMessageBytesMetadata[] = "max-receive-message-length";
// RESOURCE_EXHAUSTED, with what the client has to do, if a message of `bytes` is larger than it takes.
absl::Status CheckMessageBytes(int64_t bytes, int64_t most);
// The end of a picture whose batch was refused for another one's sake: ABORTED. Its caller reads the other's refusal.
absl::Status AbandonedError();
// What a caller reads when the server goes down: UNAVAILABLE.
absl::Status DrainingError();

// What the executor computed for one image, before it becomes a message.
struct InferenceOutput {
  std::vector<float> logits;                         // [classes], finite
  std::vector<std::vector<AttentionMap>> attention;  // per entry of InferenceRequest::attention
  std::vector<FeatureMap> features;                  // per entry of InferenceRequest::features
  v1::Timings timings;                               // queue, decode and compute
  v1::BatchInfo batch;
  // The decoded, oriented picture; only when an overlay was asked for.
  std::shared_ptr<const Image> picture;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_INFERENCE_REQUEST_H_
