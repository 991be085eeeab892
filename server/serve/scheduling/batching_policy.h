// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_BATCHING_POLICY_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_BATCHING_POLICY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/cpu/group.h"
#include "server/models/registry/batch_limits.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Classes of requests, most urgent first.
enum PriorityClass : int { kHigh = 0, kNormal = 1, kLow = 2 };
inline constexpr int kPriorityClasses = 3;
PriorityClass ClassOf(v1::Priority priority);  // UNSPECIFIED is kNormal

struct BatchOptions {
  // Most tokens in a batch. Larger batches raise throughput until the activations leave the cache (CPU) or the device
  // is full (GPU). The default is eight pictures of 224x224 pixels in cells of 16, each with its class token.
  int64_t max_batch_tokens = 8 * (14 * 14 + 1);
  // Most images in a batch.
  int max_batch_images = 64;
  // Most pixels of their pictures, before they are resized, and of the overlays drawn on them. Bounds how long a batch
  // decodes and draws, and its memory: pictures that overlays are drawn on stay decoded until the answer, 3 bytes a
  // pixel. The default is two of the largest pictures that are accepted; more only helps where decoding is not what
  // takes the time.
  int64_t max_batch_pixels = int64_t{32} << 20;
  // How long the oldest request may wait for company while an executor is idle. Zero never waits.
  absl::Duration max_wait = absl::ZeroDuration();
  // Executors that take batches, where a batch of more than kGroupTokens computes no faster: then none takes more than
  // half of its executor's part of what waits (PartOf), but of models that make requests wait for company. Zero:
  // batches are as large as they may be.
  int64_t executors = 0;
  // After this long in the queue a request goes before every class, oldest first: no class starves another.
  std::array<absl::Duration, kPriorityClasses> patience = {absl::Seconds(1), absl::Seconds(2), absl::Seconds(10)};

  BatchLimits Limits() const { return {max_batch_tokens, max_batch_images, max_batch_pixels, max_wait}; }
  absl::Status Validate() const;  // names the field, the value and the allowed range
};

// What the policy sees of a request.
struct WaitingRequest {
  uint64_t sequence = 0;        // order of submission, unique
  const void* model = nullptr;  // identity of the model version; a batch has one
  int64_t tokens = 0;
  int64_t pixels = 0;
  PriorityClass priority = kNormal;
  uint32_t caller = 0;   // see fair_share.h
  absl::Duration cost;   // executor time that it will take, as predicted
  absl::Duration given;  // executor time that its caller was given so far; the same in all of a caller's requests
  absl::Time arrival;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Duration least;  // from its start to its answer, even if it ran alone; zero where nobody knows
  bool is_slow = false;  // what is decoded or drawn for it takes far longer than its compute: it runs alone
  bool cancelled = false;
  // Of its model, where they are not those of BatchOptions; the same in all of a model's requests.
  std::optional<BatchLimits> own;

  // When the request ought to have started: its deadline, or the end of its patience if that is earlier. Within a class
  // requests run by rising Due, so Due orders a queue once and for all.
  absl::Time Due(const BatchOptions& options) const { return std::min(deadline, arrival + options.patience[priority]); }
};

// What to do now. All indices are into the span given to Decide.
struct BatchDecision {
  std::vector<size_t> batch;      // in the order of the policy; empty: run nothing now
  std::vector<size_t> cancelled;  // to be answered CANCELLED, never to be computed
  std::vector<size_t> expired;    // to be answered DEADLINE_EXCEEDED, never to be computed: too late, or about to be
  // When to decide again if nothing new arrives and `batch` is empty.
  absl::Time wake = absl::InfiniteFuture();
};

// Chooses what an idle executor runs next. Pure: the same arguments give the same decision; no clock, no lock.
// O(n log n) in the number of waiting requests.
//
// Order of one caller's requests: those out of patience, oldest due first; then HIGH, NORMAL, LOW; within a class by
// Due, then sequence. Where several callers wait, they take turns: a request comes when its caller will have been given
// `given` plus the cost of the caller's requests of the same model before it; who will have been given least is next.
// The batch is the longest run of the chosen model's live requests, in this order, that fits the budgets, without those
// that are slow: each of them is a batch of its own, so that nobody waits for what it decodes and draws; the chosen
// model is that of the first request whose batch may close. A batch may close when another request of its model does
// not fit, when it has max_batch_images, when its oldest request has waited max_wait, or when a deadline in it is
// nearer than max_wait.
//
// Guarantees: never above max_batch_tokens or max_batch_pixels unless a single image is; never a cancelled request,
// never one whose deadline is at or before `now`, nor one that could not be answered by its deadline while others could
// (they are listed instead); one model per batch; every live request is chosen after a time that only the number of
// callers and what waited before bound, whatever arrives after it.
//
// Only the first requests of each (model, caller, class) by Due matter, up to one more than fits the budgets: a
// scheduler with long queues passes those alone and gets the same batch.
//
// The limits of a model are its requests' own, else those of `options`.
BatchDecision Decide(absl::Span<const WaitingRequest> waiting, absl::Time now, const BatchOptions& options);

// What passes through the CPU engine together: its group of cells (engine/cpu/group.h), with the class tokens of
// pictures of 16 cells or more.
inline constexpr int64_t kGroupTokens = engine::kGroupCells + engine::kGroupCells / 16;

// How many of a batch, from its first on, one executor takes where more than a group computes no faster (executors as
// in BatchOptions): a group, or half of an executor's part of what waits, by the time that it takes, if that is more.
// Small batches end sooner, and what comes meanwhile waits less; where much waits, large ones spare what each costs
// beside its tokens. As in guided self-scheduling (Polychronopoulos and Kuck, IEEE Trans. Computers 36, 1987). `queued`
// is the sum of `cost` over all that waits. One request at least; all where `executors` is zero or no cost is known.
size_t PartOf(absl::Span<const WaitingRequest> waiting, absl::Span<const size_t> batch, absl::Duration queued,
              int64_t executors);
// Half of an executor's part of what waits.
absl::Duration LongestPart(absl::Duration queued, int64_t executors);

// How many of a batch, from its first on, one executor takes where `executors` of them have nothing else to do: the
// fewest that hold their part of its tokens. The others take their parts of the rest.
size_t ShareOf(absl::Span<const WaitingRequest> waiting, absl::Span<const size_t> batch, int64_t executors);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_BATCHING_POLICY_H_
