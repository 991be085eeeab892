// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCALE_OUT_RENDEZVOUS_H_
#define VITRINE_TRAINER_SCALE_OUT_RENDEZVOUS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// Where the processes of one run meet, and which of them this one is.
struct Rendezvous {
  int rank = 0;        // 0 to world_size - 1
  int world_size = 1;  // processes
  int local_rank = 0;  // among the processes of this machine
  // Of the store through which they find each other. Empty and 0 are allowed for a single process.
  std::string master_address;
  uint16_t master_port = 0;
  // torchrun's agent hosts the store, so no rank does; otherwise rank 0 hosts it.
  bool agent_hosts_store = false;
  int restarts = 0;  // how often torchrun has started the processes before
};

// The value of an environment variable, null where it is not set: std::getenv.
using Environment = std::function<const char*(const char* name)>;

// Reads the environment that torchrun, Kubeflow's PyTorchJob and others provide: RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT; LOCAL_RANK (0 if not set), TORCHELASTIC_USE_AGENT_STORE and TORCHELASTIC_RESTART_COUNT. Where WORLD_SIZE
// is set and RANK is not, a Kubernetes Indexed Job's JOB_COMPLETION_INDEX is the rank.
// Nullopt: none of the first four is set, a process on its own. INVALID_ARGUMENT: some are missing or make no sense; a
// process that took itself for a single one would train beside the others.
absl::StatusOr<std::optional<Rendezvous>> ReadRendezvous(const Environment& environment);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_RENDEZVOUS_H_
