// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REPOSITORY_KV_VERSION_H_
#define VITRINE_TESTS_MODELS_REPOSITORY_KV_VERSION_H_

#include <memory>
#include <string_view>

#include "models/reference/checkpoint/checkpoint.h"

namespace vitrine {

// Returns a KV transformer of a few thousand parameters for 8x8 grey images and three classes.
v1::ModelConfig SmallKvConfig();

// Converts 64 bytes to an image [1, 8, 8] and rejects other lengths. Tests of the repository use this function instead
// of the image decoder, which belongs to another component.
absl::StatusOr<FloatArray> DecodeRawImage(std::string_view image, const v1::Preprocessing& preprocessing);

// Returns a complete version of SmallKvConfig(), as if read from a repository: weights, one golden image and two golden
// inputs.
StoredVersion SmallKvVersion();

}  // namespace vitrine

#endif  // VITRINE_TESTS_MODELS_REPOSITORY_KV_VERSION_H_
