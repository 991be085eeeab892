// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCALE_OUT_RENDEZVOUS_H_
#define VITRINE_TRAINER_SCALE_OUT_RENDEZVOUS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// Rank of this process, and the address at which the processes of a run find each other.
struct Rendezvous {
  int rank = 0;        // 0 to world_size - 1
  int world_size = 1;  // number of processes
  int local_rank = 0;  // rank among the processes of this machine
  // Address of the store through which the ranks find each other. May be empty for a single process.
  std::string master_address;
  uint16_t master_port = 0;
  // If true, torchrun's agent hosts the store; otherwise rank 0 does.
  bool agent_hosts_store = false;
  int restarts = 0;  // number of times that torchrun has restarted the processes
};

// Function that returns the value of an environment variable, or null if it is not set, like std::getenv.
using Environment = std::function<const char*(const char* name)>;

// Reads the environment of torchrun, Kubeflow's PyTorchJob and others: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT;
// LOCAL_RANK (default 0), TORCHELASTIC_USE_AGENT_STORE and TORCHELASTIC_RESTART_COUNT. If WORLD_SIZE is set without
// RANK, the rank is a Kubernetes Indexed Job's JOB_COMPLETION_INDEX. Nullopt: RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT are not set, so this process trains alone. INVALID_ARGUMENT: only some of these four are set
// (WORLD_SIZE=1 needs only RANK), or a value is invalid. After this error, a process must not train alone, because the
// other processes would train without it.
absl::StatusOr<std::optional<Rendezvous>> ReadRendezvous(const Environment& environment);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_RENDEZVOUS_H_
