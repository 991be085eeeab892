// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_MIXING_H_
#define VITRINE_TRAINER_AUGMENT_MIXING_H_

#include "trainer/sampler.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Whether a recipe's pictures are mixed at all.
bool Mixes(const v1::Mixing& mixing);

// Mixup (Zhang et al. 2018) or CutMix (Yun et al. 2019) of a batch, one decision and one lambda ~ Beta(alpha, alpha)
// for all of it. Among pictures of equal size that are neighbours the first is mixed with the last, the second with the
// last but one, and so on; one that is its own partner stays.
//   mixup   x_i = lambda x_i + (1 - lambda) x_j
//   CutMix  a rectangle of x_i becomes that of x_j: its sides are sqrt(1 - lambda) of the picture's, its centre is
//           uniform, and what leaves the picture is cut off; lambda becomes the share of x_i that is left.
// Targets, filled whether this batch is mixed or not:
//   t_i = lambda y_i + (1 - lambda) y_j, y = label_smoothing / classes, and 1 - label_smoothing more at the label.
// Requires images that are contiguous fp32 on the CPU and share no memory, and labels [samples] on the CPU below
// `classes`.
void MixBatch(const v1::Mixing& mixing, double label_smoothing, int classes, CounterRandom& random,
              TrainingBatch& batch);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_MIXING_H_
