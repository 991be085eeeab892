// SPDX-License-Identifier: Apache-2.0
#include "server/execution/helpers.h"

#include <new>
#include <utility>

namespace vitrine {
namespace {

// Waking a thread takes some 50 us; one that takes longer has no core.
constexpr absl::Duration kPatience = absl::Microseconds(200);

}  // namespace

Helpers::Helpers(engine::Workspace& workspace, Scheduler& scheduler, int64_t most) : workspace_(workspace) {
  if (most < 1) return;
  std::shared_ptr<engine::Team> team;
  try {
    team = std::make_shared<engine::Team>();
  } catch (const std::bad_alloc&) {
    return;  // it computes alone
  }
  const int64_t coming = scheduler.Recruit(team, most);
  if (coming == 0 || team->Gather(static_cast<int>(coming), kPatience) == 1) return;
  team_ = std::move(team);
  workspace_.team = team_.get();
}

Helpers::~Helpers() {
  if (team_ == nullptr) return;
  workspace_.team = nullptr;
  team_->Dismiss();
}

}  // namespace vitrine
