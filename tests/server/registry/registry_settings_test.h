// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_SETTINGS_TEST_H_
#define VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_SETTINGS_TEST_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "server/registry/registry.h"
#include "server/serve/scheduling/batching_policy.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {

// Provides a registry over a FakeRepository, with a settings file.
class RegistrySettingsTest : public ::testing::Test {
 protected:
  RegistrySettingsTest() {
    options_.root = files_.root();
    files_.Write("serving", "");
    options_.serving_config = (files_.folder() / "serving").string();
  }

  // Opens the registry with the current settings file.
  void Open() {
    settings_ = *ServingSettings::Open(options_.Serving());
    registry_ = std::make_unique<Registry>(
        options_, Registry::Parts{.load = load_, .bytes_of = sizer_, .settings = settings_.get(), .limits = &limits_},
        clock_);
  }
  void Set(const std::function<void(v1::ModelOverride&)>& change) {
    ASSERT_TRUE(settings_->Change("m", change).ok());
    ASSERT_TRUE(settings_->Keep().ok());
    ASSERT_TRUE(registry_->Reconcile().ok());
  }

  FakeRepository files_;
  FakeClock clock_;
  RegistryOptions options_;
  ModelLimitsTable limits_{BatchOptions().Limits()};
  Registry::Loader load_ = files_.Loader();
  Registry::Sizer sizer_;
  std::unique_ptr<ServingSettings> settings_;
  std::unique_ptr<Registry> registry_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_SETTINGS_TEST_H_
