// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_SMALL_MODELS_H_
#define VITRINE_TESTS_SERVER_SMALL_MODELS_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/repository/repository.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/scheduling/inference_request.h"
#include "tests/scratch_folder.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns an EIT with a few thousand parameters: RGB, native resolution, 4-pixel cells, 4 to 64 tokens, 5 classes.
v1::ModelConfig SmallNativeConfig();
// Returns the null model for RGB images of 32x32 pixels and 3 classes.
v1::ModelConfig NullConfig();

// Returns a model in memory. Its weights are pseudo-random numbers from a hash. `change` is called with each weight
// tensor and may modify it.
std::shared_ptr<LoadedModel> MakeLoaded(const std::string& name, int64_t version, const v1::ModelConfig& config,
                                        const std::function<void(std::vector<float>& weight)>& change = nullptr);

// Publishes a version with pseudo-random weights, together with its goldens.
VersionId PublishVersion(const std::filesystem::path& root, const std::string& name, const v1::ModelConfig& config,
                         uint64_t seed = 1);

// Returns a PNG of coloured noise.
std::string NoisePng(int height, int width, int seed);

// Result of a request made by ImageRequest.
struct Answer {
  int calls = 0;
  absl::StatusOr<v1::ClassifyResponse> result = absl::UnknownError("no answer yet");
};
// Returns the request that PlanRequest makes from an image, without a deadline. The answer to the request is stored in
// `answer`.
InferenceRequest ImageRequest(ModelHandle model, std::string image, Answer& answer);

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_SMALL_MODELS_H_
