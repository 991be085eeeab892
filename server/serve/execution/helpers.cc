// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/helpers.h"

#include <algorithm>
#include <utility>

#include "models/engine/cpu/group.h"

namespace vitrine {
namespace {

// A thread that has not woken after this time is assumed to have no core.
constexpr absl::Duration kPatience = absl::Microseconds(200);

// Minimum predicted compute time of a batch for which helpers are woken.
constexpr absl::Duration kWorthHelp = absl::Milliseconds(1);
// Minimum compute time per thread for images that are computed together. The threads wait for each other after every
// step of the computation, a few hundred times per forward pass. With less time per thread, a further thread would cost
// as much waiting time as it saves.
constexpr absl::Duration kLeastShare = absl::Microseconds(250);
// Minimum rows (tokens) per thread. With fewer rows, most of the time is spent on reading the weights.
constexpr int64_t kLeastRows = 12;

// A batch with helpers is a gain if it takes at most this fraction of its predicted time without helpers.
constexpr double kWorth = 0.9;
constexpr absl::Duration kShortestPause = absl::Milliseconds(100);
constexpr int kMostDoublings = 7;

}  // namespace

void HelpRecord::Note(absl::Duration spent, absl::Duration alone) {
  if (spent <= kWorth * alone) return in_vain_.store(0, std::memory_order_relaxed);
  const int in_vain = std::min(in_vain_.fetch_add(1, std::memory_order_relaxed), kMostDoublings);
  not_before_.store(absl::ToUnixNanos(clock_.Now() + (1 << in_vain) * kShortestPause), std::memory_order_relaxed);
}

int64_t HelpersWorth(absl::Duration alone, int64_t tokens, int64_t largest) {
  if (tokens < 1 || alone < kWorthHelp) return 0;
  const int64_t together = std::max(largest, std::min(tokens, engine::kGroupCells));
  const absl::Duration of_group = alone * together / tokens;
  return std::max<int64_t>(0, std::min(together / kLeastRows, of_group / kLeastShare) - 1);
}

Helpers::Helpers(engine::Workspace& workspace, Scheduler& scheduler, int64_t most) : workspace_(workspace) {
  if (most < 1 || scheduler.idle() == 0) return;
  auto team = std::make_shared<engine::Team>(&scheduler.recalls());
  const int64_t coming = scheduler.SendToTeam(team, most);
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
