// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/batching_policy.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/serve/scheduling/caller_turns.h"

namespace vitrine {
namespace {

// A live request, which is neither cancelled nor expired, and its sort key.
struct Ranked {
  absl::Duration turn;  // start of the caller's turn; zero if there is only one caller
  int rank = 0;         // 0 if the request's patience has passed, else 1 + class
  absl::Time due;
  uint64_t sequence = 0;
  size_t index = 0;

  friend bool operator<(const Ranked& a, const Ranked& b) {
    return std::tie(a.turn, a.rank, a.due, a.sequence) < std::tie(b.turn, b.rank, b.due, b.sequence);
  }
};

// A candidate batch of one model.
struct Forming {
  BatchLimits limits;
  std::vector<size_t> batch;
  int64_t tokens = 0;
  int64_t pixels = 0;
  bool full = false;  // true: takes no further requests
  absl::Time close_at = absl::InfiniteFuture();

  void Offer(size_t index, const WaitingRequest& request) {
    if (full) return;
    if (!batch.empty() &&
        (tokens + request.tokens > limits.max_batch_tokens || pixels + request.pixels > limits.max_batch_pixels)) {
      full = true;
      return;
    }
    batch.push_back(index);
    tokens += request.tokens;
    pixels += request.pixels;
    close_at = std::min({close_at, request.arrival + limits.max_wait, request.deadline - limits.max_wait});
    full = tokens >= limits.max_batch_tokens || pixels >= limits.max_batch_pixels ||
           static_cast<int>(batch.size()) >= limits.max_batch_images;
  }
};

// Reorders `live` by turns. Before the call, the requests of each caller must be in the order in which they will run.
// Sorting by the start of the turn has the effect of repeatedly choosing the caller whose turn has the least start,
// because the turn starts of one caller's requests for one model never decrease.
void TakeTurns(absl::Span<const WaitingRequest> waiting, std::vector<Ranked>& live) {
  const auto is_other = [&](const Ranked& ranked) {
    return waiting[ranked.index].caller != waiting[live.front().index].caller;
  };
  if (std::none_of(live.begin(), live.end(), is_other)) return;
  absl::flat_hash_map<std::pair<const void*, uint32_t>, TurnTime> turn_times;
  for (Ranked& ranked : live) {
    const WaitingRequest& request = waiting[ranked.index];
    TurnTime& time = turn_times.try_emplace({request.model, request.caller}, request.turn_time).first->second;
    ranked.turn = time.start;
    time.Add(request.cost);
  }
  std::sort(live.begin(), live.end());
}

// Adds cancelled and expired requests to `decision`. Returns the other requests in the order that the comment on Decide
// defines.
std::vector<Ranked> RankLive(absl::Span<const WaitingRequest> waiting, absl::Time now, const BatchOptions& options,
                             BatchDecision& decision) {
  std::vector<Ranked> live;
  live.reserve(waiting.size());
  // If all requests are predicted to be late, they are computed anyway, because only a computed request can correct a
  // wrong prediction.
  const bool is_busy = std::any_of(waiting.begin(), waiting.end(), [&](const WaitingRequest& request) {
    return !request.cancelled && request.deadline > now + request.least;
  });
  for (size_t i = 0; i < waiting.size(); ++i) {
    const WaitingRequest& request = waiting[i];
    if (request.cancelled) {
      decision.cancelled.push_back(i);
    } else if (request.deadline <= now || (is_busy && request.deadline <= now + request.least)) {
      decision.expired.push_back(i);
    } else {
      const bool out_of_patience = request.arrival + options.patience[request.priority] <= now;
      live.push_back({{}, out_of_patience ? 0 : 1 + request.priority, request.Due(options), request.sequence, i});
    }
  }
  std::sort(live.begin(), live.end());
  TakeTurns(waiting, live);
  return live;
}

}  // namespace

PriorityClass ClassOf(v1::Priority priority) {
  switch (priority) {
    case v1::HIGH:
      return kHigh;
    case v1::LOW:
      return kLow;
    default:
      return kNormal;
  }
}

BatchDecision Decide(absl::Span<const WaitingRequest> waiting, absl::Time now, const BatchOptions& options) {
  BatchDecision decision;
  const std::vector<Ranked> live = RankLive(waiting, now, options, decision);

  std::vector<Forming> forming;                             // in the order of each model's first request
  std::map<std::pair<const void*, bool>, size_t> of_model;  // index in `forming`, by model and is_slow
  for (const Ranked& ranked : live) {
    const WaitingRequest& request = waiting[ranked.index];
    const auto [found, is_new] = of_model.try_emplace({request.model, request.is_slow}, forming.size());
    if (is_new) {
      forming.emplace_back().limits = request.own.value_or(options.Limits());
      if (request.is_slow) forming.back().limits.max_batch_images = 1;
    }
    forming[found->second].Offer(ranked.index, request);
  }
  for (Forming& candidate : forming) {
    if (candidate.full || candidate.close_at <= now || candidate.limits.max_wait <= absl::ZeroDuration()) {
      decision.batch = std::move(candidate.batch);
      return decision;
    }
    decision.wake = std::min(decision.wake, candidate.close_at);
  }
  return decision;
}

absl::Duration LongestPart(absl::Duration queued, int64_t executors) {
  return queued / (2 * executors);
}

size_t PartOf(absl::Span<const WaitingRequest> waiting, absl::Span<const size_t> batch, absl::Duration queued,
              int64_t executors) {
  if (executors < 1) return batch.size();
  const absl::Duration part = LongestPart(queued, executors);
  size_t count = 0;
  absl::Duration cost;
  for (int64_t tokens = 0; count < batch.size(); ++count) {
    tokens += waiting[batch[count]].tokens;
    cost += waiting[batch[count]].cost;
    if (count > 0 && tokens > kGroupTokens && cost > part) break;
  }
  return count;
}

size_t ShareOf(absl::Span<const WaitingRequest> waiting, absl::Span<const size_t> batch, int64_t executors) {
  int64_t all = 0;
  for (const size_t i : batch) all += waiting[i].tokens;
  size_t share = 0;
  for (int64_t tokens = 0; share < batch.size(); ++share) {
    if (share > 0 && tokens * executors >= all) break;
    tokens += waiting[batch[share]].tokens;
  }
  return share;
}

}  // namespace vitrine
