// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_PUBLISHED_H_
#define VITRINE_TESTS_E2E_TESTING_PUBLISHED_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/repository/repository.h"
#include "models/repository/weights.h"
#include "tests/scratch_folder.h"
#include "tests/server/hashed_version.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine::testing {

// Small models for all kinds of requests, with weights from an integer hash.
v1::ModelConfig MixedConfig();  // EIT: RGB, native size of 4 to 64 cells of 4 x 4 pixels, class token, 7 classes
v1::ModelConfig FixedConfig();  // KV+Pos: grey, 28 x 28 pixels, class token, 10 classes, offers SCORES and WEIGHTS
v1::ModelConfig NullModelConfig();
// Returns an EIT with native resolution that takes more than 0.1 s for SlowImage() on one core.
v1::ModelConfig SlowConfig();
// Returns a model that is four times as slow as SlowConfig(), so that a test can act during the computation on any
// machine.
v1::ModelConfig VerySlowConfig();

// Publishes HashedModel(config, seed) as the next version of `model`.
VersionId PublishModel(const std::filesystem::path& root, const std::string& model, const v1::ModelConfig& config,
                       uint64_t seed = 1);

// Returns the logits of one encoded image in its own batch, computed by the engine's portable kernels without a server.
std::vector<float> LogitsAlone(const WeightedModel& model, const std::string& image);

// Returns a JPEG of smooth shapes and noise; the noise differs everywhere between seeds.
std::string NoiseJpeg(int width, int height, uint32_t seed);
// Returns an image on which SlowConfig() and VerySlowConfig() are slow.
std::string SlowImage(uint32_t seed = 1);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_PUBLISHED_H_
