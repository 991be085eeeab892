// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_SCHEDULING_SIMULATED_SERVER_H_
#define VITRINE_TESTS_SERVER_SCHEDULING_SIMULATED_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/models/registry/loaded_model.h"
#include "server/process/clock.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine::testing {

// What computing takes of one executor, which does nothing else meanwhile.
struct SimulatedCost {
  absl::Duration pass = {};  // each forward pass, whatever is in it
  absl::Duration token = {};
  absl::Duration picture = {};  // to be read and decoded
  absl::Duration overlay_pixel = {};
};

struct SimulatedRequest {
  int model = 0;  // as AddModel numbered it
  std::string caller = "anonymous";
  v1::Priority priority = v1::NORMAL;
  absl::Time deadline = absl::InfiniteFuture();
  int64_t tokens = 1;
  int pixels = 0;
  int64_t overlay_pixels = 0;
};

// What is wrong with a server, for tests of what tests see.
enum class Fault {
  kNone,
  kAdmitsAll,               // whatever admission says
  kBelievesAThird,          // of the time that anything takes
  kComputesWhatIsExpired,   // instead of dropping it
  kForgetsWhatIsMoreUrgent  // and will come
};

// A server on a clock of its own: the admission, the queue, the batching policy and the cost model are the real ones;
// only that which takes time is made up. Nothing in it waits, so that minutes of overload are seconds. Not thread-safe.
class SimulatedServer {
 public:
  struct Options {
    BatchOptions batch = {};          // whose max_wait is zero
    AdmissionOptions admission = {};  // whose executors these are
    // Processor time to take a request, also one that is refused, of a core on which an executor runs.
    absl::Duration reading = {};
    double jitter = 0;  // a pass takes up to this part more or less, at random
    uint64_t seed = 1;
    Fault fault = Fault::kNone;
  };
  explicit SimulatedServer(const Options& options);
  SimulatedServer(const SimulatedServer&) = delete;
  SimulatedServer& operator=(const SimulatedServer&) = delete;

  // A model that was warmed up with one picture of `tokens`.
  int AddModel(const SimulatedCost& cost, int64_t tokens = 196);

  absl::Time Now() const { return clock_.Now(); }
  // Calls `event` at a time that has not passed. Those of one moment come in the order in which they were asked for.
  void At(absl::Time time, std::function<void()> event);
  // Calls `event` now and again after each gap.
  void Every(std::function<absl::Duration()> gap, std::function<void()> event);
  // A request arrives. `ended` hears what became of it, perhaps before this returns: OK within the deadline, a refusal
  // of admission, DEADLINE_EXCEEDED. What is unfinished when the server dies is not heard of.
  void Arrive(const SimulatedRequest& what, std::function<void(const absl::Status& status)> ended);
  void RunUntil(absl::Time end);

 private:
  struct Event {
    absl::Time time;
    uint64_t number;
    std::function<void()> run;

    friend bool operator<(const Event& a, const Event& b) {  // the next one is the greatest
      return std::pair(a.time, a.number) > std::pair(b.time, b.number);
    }
  };
  struct Running {
    Batch batch;
    absl::Time start;
    absl::Duration compute, rest;  // without what reading adds
  };
  struct Executor {
    std::optional<Running> running;
    absl::Duration owed;  // while it runs: to the requests that were read on its core since the end was planned
    absl::Time free;      // while it does not: when those that have arrived are read
  };

  void Repeat(const std::function<absl::Duration()>& gap, const std::function<void()>& event);
  void Read();
  void StartIdle();
  void Start(Executor& executor, Batch batch);
  void End(Executor& executor);
  void Observe(const Running& ended) const;
  void LeavesQueue(absl::Time deadline) { waiting_.erase(waiting_.find(deadline)); }
  double Jitter();

  const Options options_;
  FakeClock clock_;
  std::mt19937_64 random_;
  std::map<const LoadedModel*, SimulatedCost> costs_;
  std::vector<std::shared_ptr<LoadedModel>> models_;
  std::priority_queue<Event> events_;
  uint64_t next_event_ = 0;

  Admission admission_;
  Scheduler scheduler_;
  std::multiset<absl::Time> waiting_;  // deadlines of what is in the queue
  std::vector<Executor> executors_;
  size_t reads_next_ = 0;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_SCHEDULING_SIMULATED_SERVER_H_
