#ifndef VITRINE_SERVER_ADMISSION_H_
#define VITRINE_SERVER_ADMISSION_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/clock.h"
#include "server/mutex.h"

namespace vitrine {

struct InferenceRequest;
class Admission;

struct AdmissionOptions {
  // Most requests between admission and answer, waiting or computing. More of them only wait longer.
  int64_t max_requests = 4096;
  // Most bytes of their pictures and tensors, which stay in memory until the answer.
  int64_t max_bytes = int64_t{256} << 20;
  // Longest predicted time to the answer for requests without a deadline.
  absl::Duration max_predicted_wait = absl::Seconds(30);
  // Part of the time to the deadline that the prediction may use up: predictions are wrong by some percent, and work
  // admitted too late is lost work. 0.9 leaves a tenth.
  double deadline_share = 0.9;
  // Executors that share the queue.
  int executors = 1;

  absl::Status Validate() const;  // names the field, the value and the allowed range
};

// The right to wait. Gives its share back when it dies. Movable; thread-compatible.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept { *this = std::move(other); }
  Ticket& operator=(Ticket&& other) noexcept;
  ~Ticket() { Release(); }
  void Release();  // early; further calls do nothing

 private:
  friend class Admission;
  Admission* admission_ = nullptr;
  int priority_class_ = 0;
  int64_t bytes_ = 0;
  absl::Duration cost_;
};

// Decides at once whether a request may wait. Bounded by requests, by bytes and by predicted completion.
// Thread-safe; never blocks beyond a short lock. Outlives its tickets.
class Admission {
 public:
  Admission(const AdmissionOptions& options, const Clock& clock) : options_(options), clock_(clock) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // RESOURCE_EXHAUSTED, with a RetryAfter, if the server is full or the answer would come after the deadline given what
  // is admitted already at the same or a higher priority. DEADLINE_EXCEEDED if the deadline is past.
  // An idle server admits everything: only so a wrong prediction is ever corrected.
  absl::StatusOr<Ticket> Admit(const InferenceRequest& request);

  // What is admitted and not yet answered.
  struct Load {
    int64_t requests = 0;
    int64_t bytes = 0;
    absl::Duration work;  // executor time, summed over the requests
  };
  Load load() const;

 private:
  friend class Ticket;
  void Release(const Ticket& ticket);

  const AdmissionOptions options_;
  const Clock& clock_;
  mutable Mutex mutex_;
  int64_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<absl::Duration, 3> work_ ABSL_GUARDED_BY(mutex_);  // by priority class, see batching_policy.h
};

// When a refused request should come back; nothing where a status carries no such advice.
std::optional<absl::Duration> RetryAfter(const absl::Status& status);
void SetRetryAfter(absl::Status& status, absl::Duration delay);

}  // namespace vitrine

#endif  // VITRINE_SERVER_ADMISSION_H_
