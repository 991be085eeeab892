// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_CREATE_H_
#define VITRINE_PUBLISH_CREATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// `vitrine-repo init`: an empty repository with a README of its layout. FAILED_PRECONDITION if the folder is there and
// holds anything but a repository.
absl::Status InitCommand(const std::string& repository);

struct CreateOptions {
  std::string repository;  // created if it is not there
  std::string model;       // the name to publish under
  std::string variant;     // of the zoo
  uint64_t seed = 0;
  bool bf16 = false;              // storage
  std::optional<int> max_tokens;  // of a native-resolution variant; default the variant's own
  bool if_absent = false;         // do nothing where the name has a version already
};

// `vitrine-repo create`: publishes a variant of the zoo with random, untrained weights. Holds the model in fp32 once,
// and beside it the weights as stored.
absl::Status CreateCommand(const CreateOptions& options);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_CREATE_H_
