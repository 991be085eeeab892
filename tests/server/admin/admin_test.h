// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_ADMIN_ADMIN_TEST_H_
#define VITRINE_TESTS_SERVER_ADMIN_ADMIN_TEST_H_

#include <functional>
#include <memory>

#include "server/admin/admin_service.h"
#include "server/admin/canary_watch.h"
#include "tests/server/registry/registry_settings_test.h"

namespace vitrine {

// Provides the Admin service and the canary guard over a registry with a settings file.
class AdminTest : public RegistrySettingsTest {
 protected:
  // Destroys the registry and the Admin service and creates new ones, as a restart of the server does. The new registry
  // polls once.
  void Restart() {
    admin_.reset();
    watch_.reset();
    registry_.reset();
    Open();
    registry_->Poll();
    watch_ = std::make_unique<CanaryWatch>(*registry_, *settings_, goldens_, clock_);
    admin_ = std::make_unique<AdminService>(*registry_, *settings_, watch_.get());
  }
  void Look() {
    watch_->Look([this](const VersionId& id, const std::string& reason) { return admin_->RollBackCanary(id, reason); });
  }
  v1::ModelServingStatus Serving() {
    return admin_->GetServing(FromText<v1::GetServingRequest>("model: 'm'"))->models(0);
  }

  std::function<absl::StatusOr<double>(const LoadedModel&)> goldens_ = [](const LoadedModel&) { return 0.0; };
  std::unique_ptr<CanaryWatch> watch_;
  std::unique_ptr<AdminService> admin_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_ADMIN_ADMIN_TEST_H_
