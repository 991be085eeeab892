// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PATTERNS_H_
#define VITRINE_TRAINER_PATTERNS_H_

#include <memory>

#include "common/data/dataset.h"
#include "common/imaging/geometry.h"

namespace vitrine {

// Returns a few synthetic images: gradients, a disc and noise. They are the same on every machine, and are published
// in place of test images that must not be published. `channels` is 1 or 3.
std::unique_ptr<Dataset> MakePatterns(Size size, int channels);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PATTERNS_H_
