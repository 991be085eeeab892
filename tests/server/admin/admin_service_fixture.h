// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_ADMIN_ADMIN_SERVICE_FIXTURE_H_
#define VITRINE_TESTS_SERVER_ADMIN_ADMIN_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/admin/admin_service.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {

// Versions 1 to 3 of "m" are on disk; the newest serves.
class AdminServiceTest : public ::testing::Test {
 protected:
  AdminServiceTest() {
    options_.root = files_.root();
    options_.admin_state = (files_.folder() / "state").string();
    for (int version = 1; version <= 3; ++version) files_.Add("m", version);
    Restart();
  }

  void Restart() {
    admin_.reset();
    registry_.reset();
    settings_ = *ServingSettings::Open(options_.Serving());
    registry_ = std::make_unique<Registry>(options_,
                                           Registry::Parts{.load =
                                                               [this](const VersionId& id) {
                                                                 if (during_load_ && registry_ != nullptr)
                                                                   during_load_(id);
                                                                 return files_.Load(id);
                                                               },
                                                           .settings = settings_.get()},
                                           clock_);
    registry_->Poll();
    admin_ = std::make_unique<AdminService>(*registry_, *settings_);
  }

  template <typename Request>
  static Request Ask(const std::string& text) {
    return FromText<Request>(text);
  }
  absl::Status Load(const std::string& text) { return admin_->LoadModel(Ask<v1::LoadModelRequest>(text)).status(); }
  absl::Status Unload(const std::string& text) {
    return admin_->UnloadModel(Ask<v1::UnloadModelRequest>(text)).status();
  }
  absl::StatusOr<v1::ServingChange> RollBack(const std::string& text) {
    return admin_->RollbackModel(Ask<v1::RollbackModelRequest>(text));
  }
  absl::StatusOr<v1::ServingChange> Traffic(const std::string& text) {
    return admin_->SetTraffic(Ask<v1::SetTrafficRequest>(text));
  }
  absl::StatusOr<v1::ServingChange> Label(const std::string& label, int64_t version) {
    v1::SetLabelRequest request;
    request.set_model("m");
    request.set_label(label);
    request.set_version(version);
    return admin_->SetLabel(request);
  }
  v1::ModelServingStatus Serving() {
    const auto status = admin_->GetServing(Ask<v1::GetServingRequest>("model: 'm'"));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? status->models(0) : v1::ModelServingStatus();
  }
  // Returns the overrides in the settings, to check that a rejected change has no effect.
  std::string Settings() { return settings_->Plan("m").changed.DebugString(); }
  int64_t Stable() { return registry_->Traffic("m").stable; }
  void Poll() {
    clock_.Advance(absl::Hours(1));
    registry_->Poll();
    registry_->Poll();
  }

  FakeRepository files_;
  FakeClock clock_;
  RegistryOptions options_;
  std::function<void(const VersionId&)> during_load_;  // called while a version loads; may be null
  std::unique_ptr<ServingSettings> settings_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<AdminService> admin_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_ADMIN_ADMIN_SERVICE_FIXTURE_H_
