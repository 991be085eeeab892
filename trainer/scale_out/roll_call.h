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

// Runs `work` on a thread of its own. False: it had not ended after `limit`; it goes on by itself, so it must own all
// that it touches. For calls into a library that can block for ever.
bool EndsWithin(absl::Duration limit, std::function<void()> work);

// What an exception of LibTorch or Gloo says, in one line.
std::string InOneLine(const std::exception& error);

// Who takes part in a run, and after a loss who still does; kept in the store that the ranks share.
class RollCall {
 public:
  // `prefix` tells the attempts of a restarted job apart.
  RollCall(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous);

  // Announces this rank, waits for the others and compares what they hold. Errors as Connect's.
  absl::Status Arrive(const std::string& agreement, absl::Duration timeout);

  // After a loss: tells the others that this rank lives, waits until all have said so or `timeout` is over, and returns
  // a clause that names who has not: "rank 1 (process 4711 on node-b) is gone or stuck". Returns in bounded time.
  std::string WhoIsMissing(absl::Duration timeout) const;

 private:
  std::string NameOf(int rank) const;  // "rank 1 (process 4711 on node-b)"

  c10::intrusive_ptr<c10d::Store> store_;
  const Rendezvous rendezvous_;
  std::vector<std::string> places_;  // by rank: "process 4711 on node-b", once arrived
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SCALE_OUT_ROLL_CALL_H_
