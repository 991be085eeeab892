// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_SUBJECT_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_SUBJECT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/weights.h"
#include "models/workload/workload.h"

namespace vitrine {

// A model to describe. If its resolution is native, max_tokens is raised to kMostTokens, because the config's own
// max_tokens only limits requests to a server.
struct Subject {
  std::string name;
  WeightedModel model;
  WorkloadInput input;  // zoo variant with printed FLOPs: the size that they are for; otherwise the model's default

  const v1::ModelConfig& config() const { return model.description.config(); }
};

// Finds a variant of the zoo or, with a repository, MODEL or MODEL@VERSION in it. If `weights` is false, the result has
// no weights. If it is true, a variant gets arbitrary weights with the magnitude of trained weights, which is enough to
// measure the time of its steps.
absl::StatusOr<Subject> FindSubject(const std::string& model, const std::string& repository, bool weights);

// Parses "224" or "224x320" (height x width). INVALID_ARGUMENT unless both are 1 to 8192. Does not check if a model
// accepts the size.
absl::StatusOr<WorkloadInput> ParseResolution(const std::string& text);

// Returns random pixels, [channels, height, width], for one image with the height and width of `input`.
std::vector<float> RandomPixels(int channels, const WorkloadInput& input, int seed);

// Returns the grid of the subject's input. INVALID_ARGUMENT names the model and says which sizes it accepts.
absl::StatusOr<Grid> GridOf(const Subject& subject);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_SUBJECT_H_
