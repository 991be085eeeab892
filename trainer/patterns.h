// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PATTERNS_H_
#define VITRINE_TRAINER_PATTERNS_H_

#include <memory>

#include "data/dataset.h"
#include "imaging/geometry.h"

namespace vitrine {

// A few pictures that show nothing: gradients, a disc and noise, each another. They stand for a test split whose
// pictures must not leave the place of training. The same on every machine. `channels` is 1 or 3.
std::unique_ptr<Dataset> MakePatterns(Size size, int channels);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PATTERNS_H_
