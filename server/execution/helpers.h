// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_EXECUTION_HELPERS_H_
#define VITRINE_SERVER_EXECUTION_HELPERS_H_

#include <memory>

#include "engine/cpu/team.h"
#include "engine/cpu/workspace.h"
#include "server/scheduling/scheduler.h"

namespace vitrine {

// Idle executors that compute with the one whose workspace it is, for as long as this lives. One thread's.
class Helpers {
 public:
  // Up to `most` of them, which may be zero. Waits at most a fifth of a millisecond for them to come.
  Helpers(engine::Workspace& workspace, Scheduler& scheduler, int64_t most);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Executors that compute, the calling one included.
  int members() const { return team_ == nullptr ? 1 : team_->members(); }

 private:
  engine::Workspace& workspace_;
  std::shared_ptr<engine::Team> team_;  // null: nobody came
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_EXECUTION_HELPERS_H_
