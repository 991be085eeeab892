// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_H_

#include <memory>

#include "models/engine/cuda/driver/card.h"
#include "models/engine/cuda/driver/driver.h"
#include "tests/models/engine/cuda/fake_driver/control.h"

namespace vitrine::testing {

// Returns the controls of the fake driver. The first call loads the library of the fake driver.
FakeControl& Fake();
absl::StatusOr<cuda::driver::Driver> OpenFake();

// Resets the fake driver and opens its device.
std::unique_ptr<cuda::driver::Card> NewCard(const FakeSettings& settings = {});

// Value to pass in place of the compiled kernels, which the fake driver does not read.
inline constexpr char kNoImage[] = "no image";

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_H_
