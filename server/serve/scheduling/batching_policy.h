// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_BATCHING_POLICY_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_BATCHING_POLICY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "models/engine/cpu/group.h"
#include "server/registry/settings/batch_limits.h"
#include "server/serve/scheduling/caller_turns.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Priority classes, most urgent first.
enum PriorityClass : int { kHigh = 0, kNormal = 1, kLow = 2 };
inline constexpr int kPriorityClasses = 3;
PriorityClass ClassOf(v1::Priority priority);  // returns kNormal for UNSPECIFIED

struct BatchOptions {
  // Maximum tokens in a batch. Larger batches raise throughput until the activations no longer fit into the cache (CPU)
  // or the device is full (GPU). The default is eight images of 224x224 pixels in patches of 16, each with its class
  // token.
  int64_t max_batch_tokens = 8 * (14 * 14 + 1);
  // Maximum images in a batch.
  int max_batch_images = 64;
  // Maximum pixels in a batch: the pixels of its images before they are resized, plus the pixels of the overlays to
  // draw. Limits the time to decode and draw, and the memory: images with overlays stay decoded until the answer, at 3
  // bytes per pixel. The default is two images of the largest accepted size.
  int64_t max_batch_pixels = int64_t{32} << 20;
  // Maximum time for which the oldest request waits for a fuller batch while an executor is idle. Zero: no wait.
  absl::Duration max_wait = absl::ZeroDuration();
  // Number of executors. A batch of more than kGroupTokens tokens is limited to a part of the queue: half of the
  // queue's work, divided by the number of executors (see PartOf). Larger batches gain little: a CPU is hardly faster
  // with them, and a CUDA device computes the batches of all executors together anyway. Models with max_wait above 0
  // are not limited. Zero: no such limit.
  int64_t executors = 0;
  // True: each executor has a second thread, and only these second threads take slow requests.
  bool slow_apart = false;
  // Patience of each class. A request that has waited for the patience of its class precedes all requests of the same
  // caller and model whose patience has not passed, even requests of a more urgent class. So no class waits forever.
  std::array<absl::Duration, kPriorityClasses> patience = {absl::Seconds(1), absl::Seconds(2), absl::Seconds(10)};

  BatchLimits Limits() const { return {max_batch_tokens, max_batch_images, max_batch_pixels, max_wait}; }
};

// Kind of requests that a thread takes: all requests, only quick requests or only slow requests (see
// WaitingRequest::is_slow).
enum class BatchKind { kAll, kQuick, kSlow };

// A waiting request, as input of the policy.
struct WaitingRequest {
  uint64_t sequence = 0;        // order of submission, unique
  const void* model = nullptr;  // identity of the model version; a batch has only one model version
  int64_t tokens = 0;
  int64_t pixels = 0;
  PriorityClass priority = kNormal;
  uint32_t caller = 0;  // the caller's id in CallerTurns
  absl::Duration cost;  // predicted executor time of the request
  TurnTime turn_time;   // executor time of the caller so far; equal for all requests of a caller
  absl::Time arrival;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Duration least;  // predicted minimum time from start to answer; zero if unknown
  bool is_slow = false;  // true: decoding or drawing takes far longer than compute, so the request runs alone
  bool cancelled = false;
  // Limits of the model, if they differ from BatchOptions; equal for all requests of a model.
  std::optional<BatchLimits> own;

  // Returns the time by which the request should start: its deadline, or the time at which its patience has passed if
  // that is earlier. Requests of a class run in rising order of Due, which does not change while they wait.
  absl::Time Due(const BatchOptions& options) const { return std::min(deadline, arrival + options.patience[priority]); }
};

// Result of Decide. Indices refer to the span passed to Decide.
struct BatchDecision {
  std::vector<size_t> batch;      // in the order of the policy; empty: run nothing now
  std::vector<size_t> cancelled;  // to be answered CANCELLED without compute
  // to be answered DEADLINE_EXCEEDED without compute: the deadline has passed or would pass before the answer
  std::vector<size_t> expired;
  // Time at which to decide again if `batch` is empty and no request arrives before.
  absl::Time wake = absl::InfiniteFuture();
};

// Chooses the next batch of an idle executor. Pure function; O(n log n) in the number of waiting requests.
//
// Order of one caller's requests: first the requests whose patience has passed, in the order of Due; then the other
// requests by class (HIGH, NORMAL, LOW), and within a class in the order of Due, then of sequence. Several callers take
// turns (see TurnTime). The turn of a request follows from `turn_time` and from the cost of the caller's earlier
// requests for the same model. The turn with the least start goes first.
//
// The batch is the longest prefix of the chosen model's live requests, in this order, that fits the limits. A request
// is live if it is not cancelled and not expired. A slow request is left out and becomes its own batch, so that no
// other request waits for its decoding and drawing. The chosen model is the model of the first request whose batch may
// run. A batch may run when it has reached a limit, when another request of its model does not fit, when its oldest
// request has waited max_wait, or when the deadline of one of its requests is nearer than max_wait.
//
// Guarantees: A batch exceeds max_batch_tokens or max_batch_pixels only if it is a single image. All its requests are
// for one model. It contains no cancelled request and no request whose deadline is at or before `now`. If at least one
// waiting request can meet its deadline, the batch contains no request that would be late. The members `cancelled` and
// `expired` of the decision list the requests that are left out for these reasons. Every live request is chosen after a
// time that depends only on the number of callers and the requests before it, not on later requests.
//
// For each (model, caller, class), the policy needs only the first requests by Due: as many as fit the limits, and one
// more. So a scheduler with long queues may pass only these requests and gets the same batch. The limits of a model are
// its requests' `own`, otherwise the limits in `options`.
BatchDecision Decide(absl::Span<const WaitingRequest> waiting, absl::Time now, const BatchOptions& options);

// Tokens that the CPU engine computes together: a group of kGroupCells patches (models/engine/cpu/group.h), and their
// class tokens if each image has 16 patches or more.
inline constexpr int64_t kGroupTokens = engine::kGroupCells + engine::kGroupCells / 16;

// Returns how many of the first requests of `batch` one executor takes (see BatchOptions::executors). These are as many
// as have at most kGroupTokens tokens in total, or more if their total cost is at most LongestPart(queued, executors).
// Small batches end sooner, so new requests wait less. With a long queue, larger batches save fixed costs. This method
// is guided self-scheduling (Polychronopoulos and Kuck, IEEE Trans. Computers 36, 1987). `queued` is the sum of `cost`
// over the waiting requests that are not slow. Returns at least one request, and all of them if `executors` is zero or
// no cost is known.
size_t PartOf(absl::Span<const WaitingRequest> waiting, absl::Span<const size_t> batch, absl::Duration queued,
              int64_t executors);
// Returns half of the queued executor time, divided by the number of executors.
absl::Duration LongestPart(absl::Duration queued, int64_t executors);

// Returns how many of the first requests of `batch` one executor takes if `executors` idle executors share the batch.
// This is the smallest number of requests that have at least the batch's tokens divided by `executors`. The other
// executors take their parts from the remaining requests.
size_t ShareOf(absl::Span<const WaitingRequest> waiting, absl::Span<const size_t> batch, int64_t executors);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_BATCHING_POLICY_H_
