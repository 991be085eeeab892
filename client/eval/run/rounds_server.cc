// SPDX-License-Identifier: Apache-2.0
// Reconnection of ImageRounds to a lost server.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands/image_run.h"
#include "client/commands/output/text.h"
#include "client/eval/run/rounds.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kShortestConnect = absl::Milliseconds(100);
constexpr absl::Duration kPollInterval = absl::Milliseconds(100);

std::string Words(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

// Returns true if the server answers, but has not loaded the version.
bool IsOfVersion(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

}  // namespace

void ImageRounds::AwaitServer() {
  patience_.Silent(absl::Now());
  if (!patience_.waited()) {
    progress_.Line(absl::StrCat("vitrine: the ", IsOfVersion(away_) ? "version is not loaded" : "server is unreachable",
                                " (", Printable(away_.message()), "); waiting up to ",
                                absl::FormatDuration(options_.patience)));
  }
  while (!Stopping()) {
    const absl::Duration left = patience_.Left(absl::Now());
    if (left <= absl::ZeroDuration()) {
      return Stop(NotBack());
    }
    if (!Nap(std::min(patience_.NextWait(), left), absl::StrCat("waiting for the server, ", Words(left), " left")))
      return;
    absl::Status back = Reconnect(patience_.Left(absl::Now()));
    if (back.ok() && !Stopping() && !suspects_.empty()) back = AskAnswered();
    if (back.ok()) return;
    away_ = back;
  }
}

// Returns the error of the run if the server or the version was missing for longer than Options::patience.
absl::Status ImageRounds::NotBack() const {
  const std::string patience = absl::FormatDuration(options_.patience);
  if (!IsOfVersion(away_)) {
    return absl::UnavailableError(absl::StrCat("the server at ", options_.client.address, " did not come back within ",
                                               patience, ": ", away_.message()));
  }
  const std::string version = absl::StrCat(model_.model(), "@", model_.version());
  return absl::FailedPreconditionError(absl::StrCat("the server at ", options_.client.address, " no longer has ",
                                                    version, ", with which the run began, and did not load it within ",
                                                    patience, ": ", away_.message(),
                                                    "; load it again (vitrine admin load ", version, ")"));
}

absl::Status ImageRounds::Reconnect(absl::Duration most) {
  client_.reset();  // a new channel, because the backoff of a channel grows with each attempt
  ClientOptions options = options_.client;
  options.connect_timeout = std::min(options.connect_timeout, std::max(most, kShortestConnect));
  repeats_ = suspects_.empty();
  // With one attempt, an image that crashes the server crashes it only once per round.
  if (!repeats_) options.retry.max_attempts = 1;
  absl::StatusOr<std::unique_ptr<Client>> connected = Client::Connect(options);
  RETURN_IF_ERROR(connected.status());
  const v1::ModelVersion& expected = model_;
  ASSIGN_OR_RETURN(const v1::ModelVersion model,
                   ChooseModel(**connected, {.name = expected.model(), .version = expected.version()}));
  if (model.state() != v1::READY) {
    const std::string reason = absl::StrCat(model.model(), "@", model.version(), " is not ready");
    return model.state() == v1::LOADING ? absl::UnavailableError(reason) : absl::FailedPreconditionError(reason);
  }
  client_ = *std::move(connected);
  if (model.weights_sha256() != expected.weights_sha256()) {
    stopped_ = absl::FailedPreconditionError(absl::StrCat("the server came back with other weights of ", model.model(),
                                                          "@", model.version(), ": ", model.weights_sha256(),
                                                          " instead of ", expected.weights_sha256()));
  }
  return absl::OkStatus();
}

// Sends an image that the server has answered before, to test whether the server works. If it works, a later loss of
// the server is a suspect's fault, and a missing answer is the fault of the unanswered image. Does not count the
// answer. Returns OK if the server has answered no image yet, or if the image cannot be read.
absl::Status ImageRounds::AskAnswered() {
  if (answered_ < 0) return absl::OkStatus();
  const absl::StatusOr<std::string> image = data_.encoded(answered_);
  if (!image.ok()) return absl::OkStatus();
  bool asked = false;
  absl::Status answer;
  const absl::Status ended = client_->ClassifyMany(
      [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
        if (std::exchange(asked, true)) return std::nullopt;
        return user_.RequestWith(*image);
      },
      [&](size_t, const absl::StatusOr<v1::ClassifyResponse>& result) { answer = result.status(); });
  RETURN_IF_ERROR(ended);
  RETURN_IF_ERROR(answer);
  proven_ = true;
  patience_.Answered();
  return absl::OkStatus();
}

// Sleeps in short intervals, so that the progress line is redrawn and a stop is noticed. Returns false if stopped.
bool ImageRounds::Nap(absl::Duration duration, const std::string& why) {
  for (const absl::Time end = absl::Now() + duration; absl::Now() < end;) {
    if (Stopping()) return false;
    progress_.DrawWaiting(why, absl::Now());
    absl::SleepFor(std::min(kPollInterval, end - absl::Now()));
  }
  return !Stopping();
}

}  // namespace vitrine
