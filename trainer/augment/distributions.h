// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_AUGMENT_DISTRIBUTIONS_H_
#define VITRINE_TRAINER_AUGMENT_DISTRIBUTIONS_H_

#include "trainer/sampler.h"

namespace vitrine {

// N(0, 1), of two draws.
double DrawNormal(CounterRandom& random);

// Beta(alpha, alpha), in [0, 1], for any alpha above 0.
double DrawSymmetricBeta(double alpha, CounterRandom& random);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_AUGMENT_DISTRIBUTIONS_H_
