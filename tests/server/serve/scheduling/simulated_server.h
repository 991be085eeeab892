// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_SERVE_SCHEDULING_SIMULATED_SERVER_H_
#define VITRINE_TESTS_SERVER_SERVE_SCHEDULING_SIMULATED_SERVER_H_

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
#include "server/process/clock.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/scheduler.h"

namespace vitrine::testing {

// Compute times on one executor.
struct SimulatedCost {
  absl::Duration pass = {};  // fixed cost of each forward pass
  absl::Duration token = {};
  absl::Duration image = {};  // time to read and decode one image
  absl::Duration overlay_pixel = {};
};

struct SimulatedRequest {
  int model = 0;  // the number that AddModel returned
  std::string caller = "anonymous";
  v1::Priority priority = v1::NORMAL;
  absl::Time deadline = absl::InfiniteFuture();
  int64_t tokens = 1;
  int pixels = 0;
  int64_t overlay_pixels = 0;
};

// A server with a simulated clock. Admission, queue, batching policy and cost model are the server's own code. Work
// that takes time is simulated, without sleeping, so minutes of overload take seconds. Not thread-safe.
class SimulatedServer {
 public:
  struct Options {
    BatchOptions batch = {};          // max_wait must be zero
    AdmissionOptions admission = {};  // `executors` is the number of simulated executors
    // Time that an executor's core needs to receive a request, even if the request is rejected.
    absl::Duration reading = {};
    double jitter = 0;  // largest random change of the time of a pass, as a fraction
    uint64_t seed = 1;
    bool admits_all = false;  // ignores admission control
  };
  explicit SimulatedServer(const Options& options);
  SimulatedServer(const SimulatedServer&) = delete;
  SimulatedServer& operator=(const SimulatedServer&) = delete;

  // Adds a model whose warm-up image had `tokens` tokens. Returns its number.
  int AddModel(const SimulatedCost& cost, int64_t tokens = 196);

  absl::Time Now() const { return clock_.Now(); }
  // Calls `event` at `time`, which must not be in the past. Events at the same time run in the order in which they were
  // added.
  void At(absl::Time time, std::function<void()> event);
  // Calls `event` now, and again after each time that `gap` returns.
  void Every(std::function<absl::Duration()> gap, std::function<void()> event);
  // Sends a request to the server. Calls `ended` with the result, possibly before Arrive returns. The result is OK
  // within the deadline, a rejection by admission, or DEADLINE_EXCEEDED. Does not call `ended` if the request is
  // unfinished when the server is destroyed.
  void Arrive(const SimulatedRequest& what, std::function<void(const absl::Status& status)> ended);
  void RunUntil(absl::Time end);

 private:
  struct Event {
    absl::Time time;
    uint64_t number;
    std::function<void()> run;

    friend bool operator<(const Event& a, const Event& b) {  // reversed, because priority_queue pops the greatest
      return std::pair(a.time, a.number) > std::pair(b.time, b.number);
    }
  };
  struct Running {
    Batch batch;
    absl::Time start;
    absl::Duration compute, rest;  // times without the delays by `reading`
  };
  struct Executor {
    std::optional<Running> running;
    absl::Duration owed;  // while running: core time for received requests that the planned end does not include
    absl::Time free;      // while idle: time at which all arrived requests have been received
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
  std::multiset<absl::Time> waiting_;  // deadlines of the requests in the queue
  std::vector<Executor> executors_;
  size_t reads_next_ = 0;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_SERVE_SCHEDULING_SIMULATED_SERVER_H_
