// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_ADMIN_ADMIN_SERVICE_FIXTURE_H_
#define VITRINE_TESTS_SERVER_ADMIN_ADMIN_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/server/admin/admin_test.h"

namespace vitrine {

// Versions 1 to 3 of "m" are on disk; the newest serves.
class AdminServiceTest : public AdminTest {
 protected:
  AdminServiceTest() {
    options_.admin_state = (files_.folder() / "state").string();
    for (int version = 1; version <= 3; ++version) files_.Add("m", version);
    Restart();
  }

  absl::Status Load(const std::string& text) {
    return admin_->LoadModel(FromText<v1::LoadModelRequest>(text)).status();
  }
  absl::Status Unload(const std::string& text) {
    return admin_->UnloadModel(FromText<v1::UnloadModelRequest>(text)).status();
  }
  absl::StatusOr<v1::ServingChange> RollBack(const std::string& text) {
    return admin_->RollbackModel(FromText<v1::RollbackModelRequest>(text));
  }
  absl::StatusOr<v1::ServingChange> Traffic(const std::string& text) {
    return admin_->SetTraffic(FromText<v1::SetTrafficRequest>(text));
  }
  absl::StatusOr<v1::ServingChange> Label(const std::string& label, int64_t version) {
    v1::SetLabelRequest request;
    request.set_model("m");
    request.set_label(label);
    request.set_version(version);
    return admin_->SetLabel(request);
  }
  // Returns the overrides in the settings, to check that a rejected change has no effect.
  std::string Settings() { return settings_->Plan("m").changed.DebugString(); }
  int64_t Stable() { return registry_->Traffic("m").stable; }
  void Poll() {
    clock_.Advance(absl::Hours(1));
    registry_->Poll();
    registry_->Poll();
  }
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_ADMIN_ADMIN_SERVICE_FIXTURE_H_
