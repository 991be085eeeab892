// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_CREATE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_CREATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// `vitrine-repo init`: creates an empty repository with a README that describes its layout. FAILED_PRECONDITION if the
// path is a file or a folder with any content.
absl::Status InitCommand(const std::string& repository);

struct CreateOptions {
  std::string repository;  // created if missing
  std::string model;       // name to publish under
  std::string variant;     // name of the zoo variant
  uint64_t seed = 0;
  bool bf16 = false;              // store weights as bf16
  std::optional<int> max_tokens;  // for a native-resolution variant; unset: the variant's own limit
  std::string licence = {};       // licence of the weights; empty: not stated
  bool if_absent = false;         // do nothing if the name already has a version
};

// `vitrine-repo create`: publishes a zoo variant with random, untrained weights. Needs memory for the model in fp32
// plus the weights as stored.
absl::Status CreateCommand(const CreateOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_CREATE_H_
