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
  // Timeout for all ranks to arrive: pods of a job do not start together.
  absl::Duration arrival_timeout = absl::Minutes(5);
  // Timeout of Sum and Broadcast, for a process that hangs or lost its network; the end of a process is detected at
  // once. Must exceed the time of work that one rank does alone, such as measuring.
  absl::Duration answer_timeout = absl::Minutes(30);
  // Time that the remaining ranks wait for each other's report after a loss, to name the missing ones.
  absl::Duration report_timeout = absl::Seconds(5);
  // Values that must be equal on every rank, for instance the recipe and a digest of the data. The error names a rank
  // that differs and the first line that differs.
  std::string agreement = {};
};

// Joins the other ranks, all of which must make this call. Blocks until all have arrived. With world size 1, returns a
// communicator of size 1 at once. Sums with Gloo over TCP; GPU tensors pass through host memory.
//
// Sums are deterministic: the order of additions depends only on the world size and the tensors' shapes. Ignores
// SIGPIPE from now on unless it has a handler, so that writing to a lost rank is an error.
//
// UNAVAILABLE: a rank did not arrive in time (the message names it), or the store cannot be reached or hosted.
// FAILED_PRECONDITION: ranks differ in WORLD_SIZE or `agreement`. ALREADY_EXISTS: two processes with one rank.
absl::StatusOr<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous, const ConnectOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_GLOO_H_
