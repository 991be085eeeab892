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
#include "base/mutex.h"
#include "server/models/registry/loaded_model.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

struct ComputeProbeOptions {
  // If no request has been answered OK for this long, the server classifies a picture of its own, through the real
  // queue and an executor. Infinite: only before the server says that it is ready, and what failed then.
  absl::Duration interval = absl::Seconds(10);
  // A probe that takes longer has failed. It is far longer than a full queue, which is no fault.
  absl::Duration timeout = absl::Seconds(30);

  absl::Status Validate() const;  // names the flag, the value and the allowed range
};

// What was found out about computing.
struct ComputeFindings {
  std::set<VersionId> failing;  // answered the server's own picture with an error, or not at all
  // A picture did not come back, which is no fault of its model: an executor or the device hangs.
  bool stuck = false;
};

// Readiness proves compute: that a model answers is known from requests that were answered, or is tried. Thread-safe
// but for Start and Stop, which one owner calls.
class ComputeProbe {
 public:
  struct Parts {
    // The models to try. Empty: there is nothing to prove.
    std::function<std::vector<ModelHandle>()> models;
    // Hands a request to the queue.
    std::function<void(InferenceRequest)> submit;
    // Hears what is known after each try. From any thread of the probe.
    std::function<void(const ComputeFindings& findings)> report;
    // Returns true if the device is lost for good; called when a model has failed twice, one after the other, on a
    // thread that nobody joins. A device that does not answer within the timeout is lost too.
    std::function<bool()> fatal;
    // Says that the device is lost and ends the process; it does not return but in tests.
    std::function<void()> end;
  };

  ComputeProbe(const ComputeProbeOptions& options, Parts parts, const Clock& clock);
  ~ComputeProbe() { Stop(); }

  // A request was answered OK. Cheap; any thread.
  void Succeeded() { last_success_.store(absl::ToUnixNanos(clock_.Now()), std::memory_order_relaxed); }

  // Tries models and waits for the answers: one of those that failed, until they answer or have left, and, where none
  // fails or nothing has succeeded for the interval, one of the others, a different one each time. If that answers
  // with an error the rest is tried too: they tell the model's fault from the device's. The first failure; OK if there
  // is nothing to try.
  absl::Status Try();

  // Tries every model, one after the other. OK if one computes and none is stuck, or if there is none; else the first
  // failure.
  absl::Status TryAll();

  // Tries whenever nothing has succeeded for the interval, on a thread of its own, until Stop.
  void Start();
  void Stop();

 protected:
  // What that thread does again and again.
  void Tick();

 private:
  // Of a model, one after the other.
  struct Failures {
    int count = 0;
    bool stuck = false;  // the last one
  };

  bool Silent() const;  // nothing has succeeded for the interval
  // Forgets failures of models that have left.
  void KeepOnly(const std::vector<ModelHandle>& models);
  // Tells `report` and returns what it told.
  ComputeFindings Report();
  absl::Status TryModel(const ModelHandle& model);
  template <class T>
  struct Answer;
  // The answer, or nothing if it does not come within the timeout or before Stop.
  template <class T>
  std::optional<T> Await(Answer<T>& answer) const;
  bool IsLost() const;
  absl::Status Run(const ModelHandle& model);

  const ComputeProbeOptions options_;
  const Parts parts_;
  const Clock& clock_;
  std::atomic<int64_t> last_success_;
  std::atomic<bool> stopping_ = false;

  Mutex mutex_;
  std::map<VersionId, Failures> failures_ ABSL_GUARDED_BY(mutex_);  // of models that fail
  size_t next_model_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Ticker> ticker_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_COMPUTE_PROBE_H_
