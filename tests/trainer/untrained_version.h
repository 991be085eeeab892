// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_UNTRAINED_VERSION_H_
#define VITRINE_TESTS_TRAINER_UNTRAINED_VERSION_H_

#include <filesystem>
#include <string>
#include <vector>

#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Publishes the next version of "source" with random weights, from which training can start. Returns ROOT/source.
std::string PublishUntrained(const std::filesystem::path& root, const v1::ModelConfig& config,
                             const std::vector<std::string>& labels);

}  // namespace vitrine

#endif  // VITRINE_TESTS_TRAINER_UNTRAINED_VERSION_H_
