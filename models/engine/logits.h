// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_LOGITS_H_
#define VITRINE_MODELS_ENGINE_LOGITS_H_

#include <span>

#include "absl/status/statusor.h"
#include "models/engine/backend.h"
#include "models/float_array.h"

namespace vitrine {

engine::ImagePlanes ImageOf(const FloatArray& input);  // Returns a view of `input` [channels, height, width].

// Computes logits [images, classes] of at least one input; the model must accept each input. Uses up to `threads`
// threads, including the calling thread; each thread computes a share of the images. If a thread cannot start, the
// calling thread computes its share. Returns the errors of Backend::Run.
absl::StatusOr<FloatArray> LogitsOf(const Backend& backend, int64_t classes, std::span<const FloatArray> images,
                                    int threads = 1);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_LOGITS_H_
