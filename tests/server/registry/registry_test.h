// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_TEST_H_
#define VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_TEST_H_

#include "server/process/clock.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {

class RegistryTest : public ::testing::Test, protected FakeRepository {
 protected:
  RegistryOptions Options() const {
    RegistryOptions options;
    options.root = root();
    return options;
  }

  FakeClock clock_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_REGISTRY_REGISTRY_TEST_H_
