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

// Names of the outputs.
inline constexpr char kProbabilities[] = "probabilities";  // all classes, after the softmax
inline constexpr char kLogits[] = "logits";                // all classes, before the softmax
inline constexpr char kAttention[] = "attention";          // one attention map; only on request
inline constexpr char kEmbedding[] = "embedding";          // one feature; only on request
inline constexpr char kUnsure[] = "unsure";                // true if the answer is uncertain; only on request

// Priorities as numbers; 1 is the highest.
inline constexpr int kPriorityLevels = 3;
inline constexpr int kDefaultPriorityLevel = 2;

// One requested output.
struct RequestedOutput {
  std::string name;
  // Number of best classes to return as "value:index:label" texts; 0: all values as numbers.
  int classification = 0;
};

// Version properties that the plan depends on.
struct PlannedModel {
  int classes = 0;
  const AttentionAbility* attention = nullptr;  // kinds of attention of the version; null: requests must name the kind
  FeatureAbility features = {};
  const TensorView* view = nullptr;  // tensor view for which the plan is made; null: the plan is for the model itself
};

// A ModelInfer request as ClassifyRequests, one per image.
struct InferPlan {
  std::vector<ReceivedClassify> parts = {};   // one request per image, at least one; all options are set
  std::vector<RequestedOutput> outputs = {};  // requested outputs, at least one
};

// Returns a request that has only the model, the version or label, the id and the priority of `request`.
// INVALID_ARGUMENT: an invalid version, or an unknown or invalid parameter.
absl::StatusOr<v1::ClassifyRequest> EnvelopeOf(const inference::ModelInferRequest& request);

// Returns true if each answer on a stream must be marked as the last answer to its request. Clients that accept several
// answers per request need this mark.
bool AsksForFinalMark(const inference::ModelInferRequest& request);

// Returns the parameter timeout (microseconds); infinite if it is absent or 0.
absl::StatusOr<absl::Duration> TimeoutOf(const inference::ModelInferRequest& request);

// Plans the whole request. An error (INVALID_ARGUMENT, FAILED_PRECONDITION or UNIMPLEMENTED) names the fault.
absl::StatusOr<InferPlan> PlanInfer(ReceivedInfer request, const PlannedModel& model);

// Returns the size in bytes of `outputs` for one image, without attention and features. `longest_label` is the longest
// label's length.
int64_t OutputBytes(const std::vector<RequestedOutput>& outputs, int classes, size_t longest_label);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_INFER_PLAN_H_
