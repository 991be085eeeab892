// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_COMPUTE_PROBE_H_
#define VITRINE_SERVER_SERVE_REQUEST_COMPUTE_PROBE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

struct ComputeProbeOptions {
  // Longest time without an OK answer. After this time, the server sends a probe image, which an executor computes like
  // a request. Infinite: probes are sent only before the server is ready, and later to models that failed.
  absl::Duration interval = absl::Seconds(10);
  // Time limit of a probe. It must be much longer than the wait in a full queue, because a wait in a full queue must
  // not count as a failure. Time in which the whole process was stopped (SIGSTOP, a frozen control group) does not
  // count.
  absl::Duration timeout = absl::Seconds(30);
};

// Results of the probes so far.
struct ComputeFindings {
  std::set<VersionId> failing;  // versions that answered the probe with an error, or did not answer it
  // True if a probe did not return: an executor or the device hangs, which is not the model's fault.
  bool stuck = false;
};

// Finds out whether models can compute, from answered requests or by sending probes. Readiness depends on the result.
// Thread-safe except Start and Stop, which only the owner calls.
class ComputeProbe {
 public:
  struct Parts {
    // Returns the models to try; the result may be empty.
    std::function<std::vector<ModelHandle>()> models;
    // Submits a request to the queue.
    std::function<void(InferenceRequest)> submit;
    // Called with the current findings after each try, on any thread.
    std::function<void(const ComputeFindings& findings)> report;
    // Returns true if the device is permanently lost. Called on a detached thread after two or more consecutive
    // failures of one model, and while there is no model, because loads fail on a lost device. A device that does not
    // answer within the timeout also counts as lost. Null: the device cannot be lost.
    std::function<bool()> fatal;
    // Reports that the device is lost and ends the process; returns only in tests.
    std::function<void()> end;
  };

  ComputeProbe(const ComputeProbeOptions& options, Parts parts, const Clock& clock);
  ~ComputeProbe() { Stop(); }

  // Records that a request was answered OK. Cheap and thread-safe.
  void Succeeded() { last_success_.store(absl::ToUnixNanos(clock_.Now()), std::memory_order_relaxed); }

  // Tries models and waits for their answers. First tries one of the models that failed before, in rotation. If no
  // model failed before, or if no request was answered OK during options.interval, then tries one of the other models,
  // in rotation. If that model answers with an error, also tries all other models that did not fail before. This
  // distinguishes a fault of the model from a fault of the device. Returns the first failure; OK if there is no model.
  absl::Status Try();

  // Tries the models one after the other until one computes and none hangs. A model that hung in an earlier call counts
  // as hanging until it computes. Returns OK if there is no model, or if one computes and none hangs; otherwise the
  // first failure.
  absl::Status TryUntilOneComputes();

  // Starts a thread that calls Try periodically while a model fails or while no request has been answered OK for
  // options.interval. Stop ends this thread.
  void Start();
  void Stop();

 protected:
  // Does the work of one period of the thread that Start starts.
  void Tick();

 private:
  // Consecutive failures of a model.
  struct Failures {
    int count = 0;
    bool stuck = false;  // true: the last try was not answered in time
  };

  bool Silent() const;  // returns true if there was no success for the interval
  // Forgets the failures of models that are no longer loaded.
  void KeepOnly(const std::vector<ModelHandle>& models);
  // Passes the current findings to `report`, and returns them.
  ComputeFindings Report();
  absl::Status TryModel(const ModelHandle& model);
  template <class T>
  struct Answer;
  // Returns the answer; nullopt if it does not arrive within the timeout or before Stop.
  template <class T>
  std::optional<T> Await(Answer<T>& answer) const;
  bool IsLost() const;
  void EndIfLost() const;
  absl::Status Run(const ModelHandle& model);

  const ComputeProbeOptions options_;
  const Parts parts_;
  const Clock& clock_;
  std::atomic<int64_t> last_success_;
  std::atomic<bool> stopping_ = false;

  Mutex mutex_;
  std::map<VersionId, Failures> failures_ ABSL_GUARDED_BY(mutex_);  // models whose last try failed
  size_t next_model_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Ticker> ticker_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_COMPUTE_PROBE_H_
