// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_DISTRIBUTIONS_H_
#define VITRINE_TRAINER_AUGMENT_DISTRIBUTIONS_H_

#include "trainer/sampler.h"

namespace vitrine {

// Draws from N(0, 1). Uses two random numbers.
double DrawNormal(CounterRandom& random);

// Draws from Beta(alpha, alpha), in [0, 1], for any alpha above 0.
double DrawSymmetricBeta(double alpha, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_DISTRIBUTIONS_H_
