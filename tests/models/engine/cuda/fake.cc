// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/fake.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace vitrine::testing {
namespace {

constexpr char kFakeDriver[] = VITRINE_TESTS "/cuda/libcuda.so.1";

}  // namespace

FakeControl& Fake() {
  static FakeControl* const control = [] {
    void* const library = dlopen(kFakeDriver, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) ADD_FAILURE() << dlerror();
    return reinterpret_cast<FakeControl* (*)()>(dlsym(library, kFakeControlSymbol))();
  }();
  return *control;
}

absl::StatusOr<cuda::driver::Driver> OpenFake() {
  return cuda::driver::Driver::Open(kFakeDriver);
}

std::unique_ptr<cuda::driver::Card> NewCard(const FakeSettings& settings) {
  Fake().Reset(settings);
  absl::StatusOr<cuda::driver::Driver> driver = OpenFake();
  EXPECT_TRUE(driver.ok()) << driver.status();
  auto card = cuda::driver::Card::Open(driver.value(), 0, kNoImage);
  EXPECT_TRUE(card.ok()) << card.status();
  return std::move(card).value();
}

}  // namespace vitrine::testing
