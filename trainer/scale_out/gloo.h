// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCALE_OUT_GLOO_H_
#define VITRINE_TRAINER_SCALE_OUT_GLOO_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/communicator.h"
#include "trainer/scale_out/rendezvous.h"

namespace vitrine {

struct ConnectOptions {
  // Timeout for the arrival of all ranks. It is long, because the pods of a job may start minutes apart.
  absl::Duration arrival_timeout = absl::Minutes(5);
  // Timeout of Sum and Broadcast. It detects a process that hangs or has lost its network. The end of a process is
  // detected at once. The timeout must be longer than any work that only one rank does, such as writing the state.
  absl::Duration answer_timeout = absl::Minutes(30);
  // Time that each remaining rank waits, after a loss, for the other ranks' reports. The error then names the missing
  // ranks.
  absl::Duration report_timeout = absl::Seconds(5);
  // Values that must be equal on every rank, for instance the recipe and a digest of the data. The error names each
  // rank that differs and the first line that differs.
  std::string agreement = {};
};

// Connects this rank with the other ranks. All ranks must make this call. Blocks until all have arrived. With world
// size 1, returns a communicator of size 1 at once. The communicator uses Gloo over TCP; GPU tensors are copied to host
// memory and back.
//
// Sums are deterministic: the order of additions depends only on the world size and the tensors' shapes. If SIGPIPE has
// no handler, makes the process ignore SIGPIPE, so that a write to a lost rank returns an error.
//
// UNAVAILABLE: a rank did not arrive in time (the message names it), or the store through which ranks find each other
// cannot be reached or hosted. FAILED_PRECONDITION: ranks differ in WORLD_SIZE or `agreement`. ALREADY_EXISTS: two
// processes have the same rank.
absl::StatusOr<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous, const ConnectOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_GLOO_H_
