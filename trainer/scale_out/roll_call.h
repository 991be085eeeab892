// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SCALE_OUT_ROLL_CALL_H_
#define VITRINE_TRAINER_SCALE_OUT_ROLL_CALL_H_

#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/scale_out/rendezvous.h"

namespace c10d {
class Store;
}

namespace vitrine {

// Runs `work`, such as a library call that can block forever, on a new thread. Returns false if `work` has not ended
// after `limit`. `work` then continues, so it must own all data that it uses.
bool EndsWithin(absl::Duration limit, std::function<void()> work);

// Returns the message of an exception from LibTorch or Gloo in one line.
std::string InOneLine(const std::exception& error);

// Record of the ranks that have arrived. The record is in the store that the ranks share. After a loss, it also has the
// ranks that are still alive.
class RollCall {
 public:
  // Prefixes all keys with `rendezvous.restarts`, to separate the attempts of a restarted job.
  RollCall(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous);

  // Announces this rank, waits for the others, and compares `agreement`. Throws if the store is lost.
  // Other errors are those of Connect.
  absl::Status Arrive(const std::string& agreement, absl::Duration timeout);

  // After a loss, reports this rank as alive, and waits until all ranks have reported or `timeout` is over. Returns a
  // clause about the missing ranks: "rank 1 (process 4711 on node-b) has ended or hangs". Takes at most `timeout` + 1
  // s.
  std::string MissingRanks(absl::Duration timeout) const;

 private:
  std::string NameOf(int rank) const;  // "rank 1 (process 4711 on node-b)"

  c10::intrusive_ptr<c10d::Store> store_;
  const Rendezvous rendezvous_;
  std::vector<std::string> places_;  // by rank: "process 4711 on node-b"; empty until the rank has arrived
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_ROLL_CALL_H_
