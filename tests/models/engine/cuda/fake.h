// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_H_

#include <memory>

#include "models/engine/cuda/driver/card.h"
#include "models/engine/cuda/driver/driver.h"
#include "tests/models/engine/cuda/fake_driver/control.h"

namespace vitrine::testing {

// The fake driver, which is loaded at the first call.
FakeControl& Fake();
absl::StatusOr<cuda::driver::Driver> OpenFake();

// Begins a new driver, and opens its device.
std::unique_ptr<cuda::driver::Card> NewCard(const FakeSettings& settings = {});

// Compiled kernels, which the fake does not look at.
inline constexpr char kNoImage[] = "no image";

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_H_
