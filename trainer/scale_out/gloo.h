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
  // Timeout for all ranks to arrive. It is long, because the pods of a job do not start together.
  absl::Duration arrival_timeout = absl::Minutes(5);
  // Timeout of Sum and Broadcast. It detects a process that hangs or lost its network; the end of a process is detected
  // at once. It must exceed the time of work that one rank does alone, such as writing the state.
  absl::Duration answer_timeout = absl::Minutes(30);
  // After a loss, time that each remaining rank waits for the other ranks' reports, to name the missing ranks.
  absl::Duration report_timeout = absl::Seconds(5);
  // Values that must be equal on every rank, for instance the recipe and a digest of the data. The error names each
  // rank that differs and the first line that differs.
  std::string agreement = {};
};

// Joins the other ranks, all of which must make this call. Blocks until all have arrived. With world size 1, returns a
// communicator of size 1 at once. Sums with Gloo over TCP; GPU tensors pass through host memory.
//
// Sums are deterministic: the order of additions depends only on the world size and the tensors' shapes. If SIGPIPE has
// no handler, ignores it from now on, so that a write to a lost rank returns an error.
//
// UNAVAILABLE: a rank did not arrive in time (the message names it), or the ranks' store cannot be reached or hosted.
// FAILED_PRECONDITION: ranks differ in WORLD_SIZE or `agreement`. ALREADY_EXISTS: two processes have the same rank.
absl::StatusOr<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous, const ConnectOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_GLOO_H_
