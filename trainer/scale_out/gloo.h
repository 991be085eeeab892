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
  // How long the ranks wait for each other at the start: pods of a job do not start together.
  absl::Duration arrival_timeout = absl::Minutes(5);
  // How long a rank waits in Sum and Broadcast for the others. A process that ends is noticed at once; this bounds the
  // wait for one that hangs or lost its network. It must exceed what one rank does alone, such as measuring.
  absl::Duration answer_timeout = absl::Minutes(30);
  // How long the survivors of a loss wait for each other's report, to say who is missing.
  absl::Duration report_timeout = absl::Seconds(5);
  // What every rank must hold equal, for instance the recipe and a digest of the data. A rank that differs is
  // named, with the first line that differs.
  std::string agreement = {};
};

// Joins the other ranks, all of which make this call. Blocks until all have arrived. One rank alone needs nobody and
// gets a communicator of size 1. The communicator sums with Gloo over TCP; tensors of a GPU pass through host memory.
//
// Sums are deterministic: the order of additions depends on the world's size and the tensors' shapes alone.
// SIGPIPE is ignored from now on if nobody handles it: writing to a lost rank shall be an error, not the end.
//
// UNAVAILABLE: somebody did not arrive in time (the sentence names the ranks) or the store cannot be reached or hosted.
// FAILED_PRECONDITION: ranks that differ in WORLD_SIZE or `agreement`. ALREADY_EXISTS: two processes with one rank.
absl::StatusOr<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous, const ConnectOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_GLOO_H_
