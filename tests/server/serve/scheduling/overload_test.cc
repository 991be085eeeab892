// SPDX-License-Identifier: Apache-2.0
// Tests the guarantee of docs/concepts/scheduling.md that an overloaded server uses nine tenths of its capacity for
// answers within the deadline. The clock is simulated, so other load on the machine has no effect. `script/prove
// overload` tests this guarantee on a real server.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/process/shed.h"
#include "tests/server/serve/scheduling/simulated_server.h"

namespace vitrine::testing {
namespace {

constexpr absl::Duration Ms(int64_t count) {
  return absl::Milliseconds(count);
}
constexpr absl::Duration Us(int64_t count) {
  return absl::Microseconds(count);
}

// Core time for reading and rejecting a photograph of 110 KB.
constexpr absl::Duration kReading = Us(100);
constexpr absl::Duration kWarmUp = absl::Seconds(2), kMeasured = absl::Seconds(10);

// A kind of request, with its relative frequency and its timeout.
struct Kind {
  double weight = 1;
  absl::Duration patience;
  SimulatedRequest request;
};

struct Mix {
  std::string name;
  int executors = 1;
  std::vector<SimulatedCost> models = {};
  std::vector<Kind> kinds = {};  // constant load, scaled to a multiple of the capacity
  std::vector<Kind> burst = {};  // additional load: `weight` requests of each kind at once, every two seconds

  friend void PrintTo(const Mix& mix, std::ostream* out) { *out << mix.name; }
};

// Costs of XCiT-N12 on one core with AVX-512: 140 images of 224 x 224 per second.
constexpr SimulatedCost kXcit = {.pass = Us(300), .token = Us(26), .image = Us(1700)};

Kind Ask(double weight, absl::Duration patience, SimulatedRequest request) {
  request.pixels = 224 * 224;  // the decoding time is the same for all requests
  return {weight, patience, std::move(request)};
}

std::vector<Mix> Mixes() {
  return {
      {.name = "OneModel", .models = {kXcit}, .kinds = {Ask(1, Ms(500), {.tokens = 196})}},
      {.name = "ASmallAndALargeModelOnTwoExecutors",
       .executors = 2,
       .models = {{.pass = Us(200), .token = Us(5), .image = Us(500)},
                  {.pass = Us(1000), .token = Us(80), .image = Us(1700)}},
       .kinds = {Ask(2, Ms(300), {.model = 0, .tokens = 196}), Ask(1, Ms(1000), {.model = 1, .tokens = 196})}},
      {.name = "EverySizeAndPatience",
       .models = {kXcit},
       .kinds = {Ask(4, Ms(250), {.tokens = 49}), Ask(4, Ms(500), {.tokens = 196}), Ask(2, Ms(1000), {.tokens = 441}),
                 Ask(1, Ms(500), {.tokens = 784}), Ask(1, Ms(2000), {.tokens = 1568})}},
      {.name = "EveryPriority",
       .models = {kXcit},
       .kinds = {Ask(1, Ms(500), {.priority = v1::HIGH, .tokens = 196}),
                 Ask(6, Ms(500), {.priority = v1::NORMAL, .tokens = 196}),
                 Ask(3, Ms(500), {.priority = v1::LOW, .tokens = 196})}},
      // Some requests expire here, because admission predicts from the mean rate of urgent requests, and bursts exceed
      // this rate.
      {.name = "BurstsOfUrgentRequests",
       .models = {kXcit},
       .kinds = {Ask(1, Ms(500), {.tokens = 196})},
       .burst = {Ask(80, Ms(1000), {.priority = v1::HIGH, .tokens = 196})}},
      {.name = "FourCallersWhoWantMoreAndLess",
       .models = {kXcit},
       .kinds = {Ask(1, Ms(300), {.caller = "a", .tokens = 196}), Ask(2, Ms(500), {.caller = "b", .tokens = 49}),
                 Ask(4, Ms(500), {.caller = "c", .tokens = 196}), Ask(16, Ms(1000), {.caller = "d", .tokens = 441})}},
  };
}

struct Seen {
  int sent = 0, answered = 0, refused = 0, late = 0;  // attempts during the measurement; a retry is a new attempt
  absl::Duration work;                                // executor time of the answers that were in time

  double Rate() const { return absl::FDivDuration(work, kMeasured); }
};

// A simulated server with a mix of requests.
class Load {
 public:
  Load(const Mix& mix, uint64_t seed)
      : mix_(mix),
        server_({.admission = {.executors = mix.executors, .max_batch_tokens = BatchOptions().max_batch_tokens},
                 .reading = kReading,
                 .jitter = 0.1,
                 .seed = seed}),
        begin_(server_.Now() + kWarmUp),
        random_(seed) {
    for (const SimulatedCost& cost : mix.models) server_.AddModel(cost);
  }

  // Simulates clients that wait for each answer, without a timeout, and then send the next request.
  Seen ClosedLoop(int callers) {
    for (int i = 0; i < callers; ++i) AskAgainAndAgain();
    return Run();
  }

  // Simulates requests that arrive at random times and need `work_per_second` seconds of work per second. Adds the
  // bursts of the mix. If `retry` is true, rejected requests are retried as our clients do.
  Seen OpenLoop(double work_per_second, bool retry) {
    const double rate = work_per_second / absl::ToDoubleSeconds(MeanWork());
    server_.Every([this, rate] { return absl::Seconds(std::exponential_distribution<double>(rate)(random_)); },
                  [this, retry] { Ask(AnyKind(), retry); });
    for (const Kind& kind : mix_.burst) {
      server_.Every([] { return absl::Seconds(2); },
                    [this, &kind, retry] {
                      for (int i = 0; i < kind.weight; ++i) Ask(kind, retry);
                    });
    }
    return Run();
  }

 private:
  static constexpr int kMaxAttempts = 15;

  Seen Run() {
    server_.RunUntil(begin_ + kMeasured);
    return seen_;
  }

  absl::Duration WorkOf(const SimulatedRequest& request) const {
    const SimulatedCost& cost = mix_.models[static_cast<size_t>(request.model)];
    return cost.token * request.tokens + cost.image;
  }
  absl::Duration MeanWork() const {
    absl::Duration sum;
    double weights = 0;
    for (const Kind& kind : mix_.kinds) {
      sum += kind.weight * WorkOf(kind.request);
      weights += kind.weight;
    }
    return sum / weights;
  }
  const Kind& AnyKind() {
    std::vector<double> weights;
    for (const Kind& kind : mix_.kinds) weights.push_back(kind.weight);
    return mix_.kinds[std::discrete_distribution<size_t>(weights.begin(), weights.end())(random_)];
  }

  void Count(const SimulatedRequest& request, const absl::Status& status) {
    if (server_.Now() < begin_) return;
    seen_.answered += status.ok();
    seen_.late += absl::IsDeadlineExceeded(status);
    seen_.refused += absl::IsResourceExhausted(status);
    if (status.ok()) seen_.work += WorkOf(request);
  }

  void AskAgainAndAgain() {
    const SimulatedRequest& request = AnyKind().request;
    server_.Arrive(request, [this, &request](const absl::Status& status) {
      Count(request, status);
      AskAgainAndAgain();
    });
  }

  void Ask(const Kind& kind, bool retry) {
    SimulatedRequest request = kind.request;
    request.deadline = server_.Now() + kind.patience;
    Ask(request, retry ? 1 : kMaxAttempts);
  }

  void Ask(const SimulatedRequest& request, int attempt) {
    seen_.sent += server_.Now() >= begin_;
    server_.Arrive(request, [this, request, attempt](const absl::Status& status) {
      Count(request, status);
      if (!absl::IsResourceExhausted(status) || attempt >= kMaxAttempts) return;
      // Uses the backoff of client/lib/retry.h.
      const double uniform = std::uniform_real_distribution<double>(0, 1)(random_);
      const absl::Duration backoff = std::min(Ms(100) * std::exp2(attempt - 1), absl::Seconds(5));
      const absl::Time next =
          server_.Now() + std::max(backoff * (0.5 + 0.5 * uniform), RetryAfter(status).value() * (1 + 0.2 * uniform));
      if (next < request.deadline) server_.At(next, [this, request, attempt] { Ask(request, attempt + 1); });
    });
  }

  const Mix& mix_;
  SimulatedServer server_;
  const absl::Time begin_;
  std::mt19937_64 random_;
  Seen seen_;
};

// Returns the capacity in seconds of work per second. Measures it with callers who wait for each answer.
double Capacity(const Mix& mix) {
  double most = 0;
  for (const int callers : {16, 32, 64}) most = std::max(most, Load(mix, 1).ClosedLoop(mix.executors * callers).Rate());
  return most;
}

class Overload : public ::testing::TestWithParam<Mix> {};

std::string Ledger(const Seen& seen, double capacity) {
  return absl::StrCat(seen.Rate() / capacity, " of the capacity; sent ", seen.sent, ", answered ", seen.answered,
                      ", refused ", seen.refused, ", late ", seen.late);
}

TEST_P(Overload, UsesNineTenthsOfTheCapacityForAnswersInTime) {
  const double capacity = Capacity(GetParam());
  for (const double times : {2.0, 5.0}) {
    for (const uint64_t seed : {1, 2, 3}) {
      const Seen seen = Load(GetParam(), seed).OpenLoop(times * capacity, /*retry=*/false);
      EXPECT_GE(seen.Rate(), 0.9 * capacity) << times << " times, seed " << seed << ": " << Ledger(seen, capacity);
    }
  }
}

// Tests loads whose rejections take much processor time, because clients retry as early as allowed, or because the load
// is ten times the capacity. The server must use nine tenths of the time that the rejections leave for answers within
// the deadline.
TEST_P(Overload, UsesNineTenthsOfTheTimeThatRejectionsLeave) {
  const double capacity = Capacity(GetParam());
  for (const double times : {2.0, 5.0, 10.0}) {
    for (const bool retry : {true, false}) {
      const Seen seen = Load(GetParam(), 1).OpenLoop(times * capacity, retry);
      const double refusing = absl::FDivDuration(seen.refused * kReading, GetParam().executors * kMeasured);
      EXPECT_GE(seen.Rate(), 0.9 * capacity * (1 - refusing))
          << times << " times: share of the time for rejections " << refusing << "; " << Ledger(seen, capacity);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mixes, Overload, ::testing::ValuesIn(Mixes()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace vitrine::testing
