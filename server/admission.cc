#include "server/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/batching_policy.h"
#include "server/inference_request.h"

namespace vitrine {
namespace {

constexpr char kRetryAfterPayload[] = "vitrine/retry-after-seconds";

absl::Status Full(std::string sentence, absl::Duration retry_after) {
  retry_after = std::clamp(retry_after, absl::Milliseconds(10), absl::Seconds(30));
  absl::Status status = absl::ResourceExhaustedError(
      absl::StrCat(sentence, "; try again in ", absl::FormatDuration(absl::Trunc(retry_after, absl::Milliseconds(1)))));
  SetRetryAfter(status, retry_after);
  return status;
}

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration), " ms");
}

}  // namespace

absl::Status AdmissionOptions::Validate() const {
  if (max_requests < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_requests is ", max_requests, "; it must be at least 1"));
  }
  if (max_bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_bytes is ", max_bytes, "; it must be at least 1"));
  }
  if (max_predicted_wait <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("max_predicted_wait is ", absl::FormatDuration(max_predicted_wait),
                                                   "; it must be longer than zero"));
  }
  if (!(deadline_share > 0 && deadline_share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("deadline_share is ", deadline_share, "; it must be above 0 and at most 1"));
  }
  if (executors < 1) {
    return absl::InvalidArgumentError(absl::StrCat("executors is ", executors, "; it must be at least 1"));
  }
  return absl::OkStatus();
}

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this == &other) return *this;
  Release();
  admission_ = std::exchange(other.admission_, nullptr);
  priority_class_ = other.priority_class_;
  bytes_ = other.bytes_;
  cost_ = other.cost_;
  return *this;
}

void Ticket::Release() {
  if (Admission* admission = std::exchange(admission_, nullptr)) admission->Release(*this);
}

absl::StatusOr<Ticket> Admission::Admit(const InferenceRequest& request) {
  const absl::Time now = clock_.Now();
  if (request.deadline <= now) {
    return absl::DeadlineExceededError("the deadline had passed when the request arrived; nothing was computed");
  }
  Ticket ticket;
  ticket.priority_class_ = ClassOf(request.request.priority());
  ticket.bytes_ = request.InputBytes();
  ticket.cost_ = request.model->cost->Predict(request.tokens, request.InputPixels());
  const bool has_deadline = request.deadline != absl::InfiniteFuture();
  const absl::Duration limit =
      has_deadline ? (request.deadline - now) * options_.deadline_share : options_.max_predicted_wait;

  MutexLock lock(mutex_);
  if (requests_ > 0) {
    absl::Duration ahead;
    for (int c = 0; c <= ticket.priority_class_; ++c) ahead += work_[c];
    ahead /= options_.executors;
    if (requests_ >= options_.max_requests) {
      return Full(absl::StrCat("the server already holds ", requests_, " requests, its limit"), ahead / 2);
    }
    if (bytes_ + ticket.bytes_ > options_.max_bytes) {
      return Full(absl::StrCat("the server already holds ", bytes_, " bytes of pictures; ", ticket.bytes_,
                               " more would exceed its limit of ", options_.max_bytes),
                  ahead / 2);
    }
    const absl::Duration completion = ahead + ticket.cost_;
    if (ahead > absl::ZeroDuration() && completion > limit) {
      return Full(absl::StrCat("the server is busy: the answer would take about ", Milliseconds(completion),
                               has_deadline ? ", longer than the deadline allows" : ", longer than its limit of ",
                               has_deadline ? "" : Milliseconds(limit)),
                  completion - limit);
    }
  }
  ++requests_;
  bytes_ += ticket.bytes_;
  work_[ticket.priority_class_] += ticket.cost_;
  ticket.admission_ = this;
  return ticket;
}

void Admission::Release(const Ticket& ticket) {
  MutexLock lock(mutex_);
  --requests_;
  bytes_ -= ticket.bytes_;
  work_[ticket.priority_class_] -= ticket.cost_;
}

Admission::Load Admission::load() const {
  MutexLock lock(mutex_);
  return {requests_, bytes_, work_[0] + work_[1] + work_[2]};
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryAfterPayload);
  double seconds = 0;
  if (!payload.has_value() || !absl::SimpleAtod(std::string(*payload), &seconds)) return std::nullopt;
  return absl::Seconds(seconds);
}

void SetRetryAfter(absl::Status& status, absl::Duration delay) {
  status.SetPayload(kRetryAfterPayload, absl::Cord(absl::StrCat(absl::ToDoubleSeconds(delay))));
}

}  // namespace vitrine
