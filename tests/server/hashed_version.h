// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_HASHED_VERSION_H_
#define VITRINE_TESTS_SERVER_HASHED_VERSION_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/engine/backend.h"
#include "models/repository/repository.h"
#include "models/repository/weights.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns a model with hashed weights (tests/models/hashed_weights.h). Different seeds give different weights.
WeightedModel HashedModel(const v1::ModelConfig& config, uint64_t seed = 1);

// Returns a backend with the engine's portable kernels. Tests compare its results with the results of the server's
// kernels.
std::unique_ptr<const Backend> PortableBackend(const WeightedModel& model);

// Publishes HashedModel(config, seed) as the next version of `model`, with encoded images as goldens and the labels
// "class-0" and so on.
VersionId PublishHashed(const std::filesystem::path& root, const std::string& model, const v1::ModelConfig& config,
                        uint64_t seed, const std::vector<std::string>& golden_images);

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_HASHED_VERSION_H_
