// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_INFER_PLAN_H_
#define VITRINE_SERVER_WIRE_OIP_INFER_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "inference/grpc_service.pb.h"
#include "models/abilities.h"
#include "server/wire/message/read_message.h"
#include "server/wire/oip/split_input.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Outputs by name.
inline constexpr char kProbabilities[] = "probabilities";  // softmax over all classes
inline constexpr char kLogits[] = "logits";                // before the softmax
inline constexpr char kAttention[] = "attention";          // one attention map; only when asked for
inline constexpr char kEmbedding[] = "embedding";          // one vector of features; only when asked for
inline constexpr char kUnsure[] = "unsure";                // whether the answer is doubtful; only when asked for

// Priorities as numbers: the smaller is served first.
inline constexpr int kPriorityLevels = 3;
inline constexpr int kDefaultPriorityLevel = 2;

// One output that was asked for.
struct OutputWish {
  std::string name;
  // How many of the best classes to return as "value:index:label" texts; 0 for the numbers themselves.
  int classification = 0;
};

// The version that a request is for, as far as the plan depends on it.
struct PlannedModel {
  int classes = 0;
  FeatureAbility features = {};
  const TensorView* view = nullptr;  // null: the model itself
};

// A ModelInfer request as requests of ours, each of one picture.
struct InferPlan {
  std::vector<ReceivedClassify> parts = {};  // per element of the batch, at least one; what to compute of each
  std::vector<OutputWish> outputs = {};      // at least one
};

// What of a request says where it goes and when: model, version or label, id, priority; no picture. INVALID_ARGUMENT
// for parameters that are not known.
absl::StatusOr<v1::ClassifyRequest> EnvelopeOf(const inference::ModelInferRequest& request);

// True if answers on a stream are to say that they are the last of their request, as clients of models that answer
// several times ask for it.
bool AsksForFinalMark(const inference::ModelInferRequest& request);

// How long the request may take, from its parameter timeout (microseconds); infinite without one.
absl::StatusOr<absl::Duration> TimeoutOf(const inference::ModelInferRequest& request);

// The whole of it. INVALID_ARGUMENT or UNIMPLEMENTED with the fault and the way out.
absl::StatusOr<InferPlan> PlanInfer(ReceivedInfer request, const PlannedModel& model);

// Bytes that these outputs take of one picture, beside attention; of labels at most so long.
int64_t OutputBytes(const std::vector<OutputWish>& outputs, int classes, size_t longest_label);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_PLAN_H_
