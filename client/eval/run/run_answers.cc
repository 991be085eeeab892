// SPDX-License-Identifier: Apache-2.0
// Outcome of each image of an evaluation.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/eval/fate.h"
#include "client/eval/likelihood.h"
#include "client/eval/run/evaluation_run.h"

namespace vitrine {
namespace {

constexpr int kMostDoubtful = 3;  // maximum attempts of an image if the server answers INTERNAL or similar
constexpr int kMostStrikes = 3;   // an image is refused after this many losses of the server with only this image in flight
constexpr int kMostReads = 3;     // attempts to read a missing image
constexpr int kManyUnread = 16;   // consecutive unreadable images that indicate missing data

// Rounds to 0.1 us, about the resolution of the clock, to keep the journal short. A non-finite time becomes 0.
double RoundedSeconds(double seconds) {
  return std::isfinite(seconds) ? std::round(seconds * 1e7) / 1e7 : 0;
}

}  // namespace

void EvaluationRun::Deliver(TracedResult traced) {
  Prediction prediction = Begin(round_.asked.front());
  round_.asked.pop_front();
  const auto trouble = trouble_.find(prediction.index);
  prediction.attempts = traced.attempts + (trouble == trouble_.end() ? 0 : trouble->second.attempts);
  prediction.seconds.client = RoundedSeconds(absl::ToDoubleSeconds(traced.latency));
  const absl::Status& status = traced.result.status();
  if (traced.result.ok()) {
    TakeAnswer(std::move(prediction), *traced.result);
  } else if (absl::IsCancelled(status) && SendsNoMore()) {
    if (prediction.attempts > 0) trouble_[prediction.index].attempts = prediction.attempts;
    round_.unsent.push_back(prediction.index);
  } else if (absl::IsUnavailable(status)) {
    if (away_.ok()) away_ = status;
    Trouble& lost = trouble_[prediction.index];
    lost.attempts = prediction.attempts;
    lost.last = status;
    (traced.attempts > 0 ? round_.lost : round_.unsent).push_back(prediction.index);
  } else {
    TakeError(std::move(prediction), status);
  }
  progress_->Draw(limit_.limit(), absl::Now());
}

void EvaluationRun::TakeAnswer(Prediction prediction, const v1::ClassifyResponse& answer) {
  const v1::ServedBy& by = answer.served_by();
  const v1::ModelVersion& model = evaluation_.model;
  if (by.version() != model.version() || by.weights_sha256() != model.weights_sha256()) {
    stopped_ = absl::FailedPreconditionError(
        absl::StrCat("the server answered with version ", by.version(), " and weights ", by.weights_sha256(),
                     "; the run began with version ", model.version(), " and weights ", model.weights_sha256()));
    return;
  }
  for (const v1::Prediction& guess : answer.predictions()) {
    if (guess.index() < 0 || guess.index() >= model.labels_size() || !std::isfinite(guess.probability())) {
      return TakeError(std::move(prediction),
                       absl::InternalError(absl::StrCat("the answer names class ", guess.index(), " with probability ",
                                                        guess.probability(), "; the model has ", model.labels_size())));
    }
    prediction.guesses.push_back({guess.index(), guess.probability()});
  }
  if (prediction.guesses.empty()) {
    return TakeError(std::move(prediction), absl::InternalError("the answer has no predictions"));
  }
  prediction.likelihood = LikelihoodOf(prediction.guesses, prediction.label, model.labels_size());
  if (command_.keep_logits && prediction.likelihood.has_value()) {
    prediction.logits.resize(static_cast<size_t>(model.labels_size()));
    for (const v1::Prediction& guess : answer.predictions()) {
      prediction.logits[static_cast<size_t>(guess.index())] = guess.logit();
    }
  }
  const size_t kept = std::min(prediction.guesses.size(), static_cast<size_t>(command_.top_k));
  prediction.guesses.resize(kept);
  const v1::Timings& t = answer.timings();
  prediction.seconds = {RoundedSeconds(t.queue()),  RoundedSeconds(t.decode()), RoundedSeconds(t.compute()),
                        RoundedSeconds(t.encode()), RoundedSeconds(t.total()),  prediction.seconds.client};
  prediction.tokens = static_cast<int32_t>(
      std::min<int64_t>(int64_t{answer.grid().rows()} * answer.grid().columns(), std::numeric_limits<int32_t>::max()));
  prediction.served_by = absl::StrCat(by.precision(), " ", by.device());
  answered_ = prediction.index;
  proven_ = true;
  Record(prediction);
}

void EvaluationRun::TakeError(Prediction prediction, const absl::Status& status) {
  const int64_t index = prediction.index;
  Trouble& trouble = trouble_[index];
  trouble.attempts = prediction.attempts;
  trouble.last = status;
  switch (FateOf(status)) {
    case Fate::kRefused:
      return Refuse(std::move(prediction), status, std::string(status.message()));
    case Fate::kDoubtful:
      if (++trouble.doubts >= kMostDoubtful) {
        return Refuse(std::move(prediction), status, std::string(status.message()));
      }
      round_.again.push_back(index);
      return;
    case Fate::kHopeless:
      if (stopped_.ok()) stopped_ = status;
      return;
    case Fate::kAway:  // not caused by the image
      if (away_.ok()) away_ = status;
      round_.unsent.push_back(index);
      return;
    case Fate::kLater:
      return AskLater(index, status);
  }
}

void EvaluationRun::Refuse(Prediction prediction, const absl::Status& status, std::string reason) {
  prediction.guesses.clear();
  prediction.outcome = Outcome::kRefused;
  prediction.code = status.code();
  prediction.reason = std::move(reason);
  Record(prediction);
}

// Sends a rejected image at least three times in total, and until `patience` has passed since the second rejection.
// After that, the image stays without a result, in `trouble_`.
void EvaluationRun::AskLater(int64_t index, const absl::Status& status) {
  const absl::Time now = absl::Now();
  patience_.Silent(now);
  if (patience_.Left(now) < absl::ZeroDuration() && stopped_.ok()) {
    stopped_ = absl::Status(status.code(), absl::StrCat("no answer came for ", absl::FormatDuration(command_.patience),
                                                        ": ", status.message()));
  }
  Trouble& trouble = trouble_[index];
  if (++trouble.refusals == 2) trouble.second = now;
  if (now - trouble.second < command_.patience) round_.again.push_back(index);
}

// Counts a loss of the server with only this image in flight. Before, the server had answered another image.
void EvaluationRun::Strike(int64_t index) {
  Trouble& trouble = trouble_[index];
  if (++trouble.strikes < kMostStrikes) return;
  Prediction prediction = Begin(index);
  prediction.attempts = trouble.attempts;
  const absl::Status last = trouble.last;
  Refuse(std::move(prediction), last, absl::StrCat("the server was lost at every attempt: ", last.message()));
}

void EvaluationRun::TakeReadError(int64_t index, const absl::Status& status) {
  Trouble& trouble = trouble_[index];
  trouble.last = status;
  ++trouble.reads;
  // Errors other than NOT_FOUND and UNAVAILABLE are caused by the file's content.
  const bool is_missing = absl::IsNotFound(status), may_pass = is_missing || absl::IsUnavailable(status);
  if (!may_pass || (is_missing && trouble.reads >= kMostReads && DataIsThere())) {
    Prediction prediction = Begin(index);
    prediction.outcome = Outcome::kUnreadable;
    prediction.code = status.code();
    prediction.reason = std::string(status.message());
    return Record(prediction);
  }
  if (trouble.reads < kMostReads) round_.again.push_back(index);
  if (++unread_ < kManyUnread || DataIsThere() || !stopped_.ok()) return;
  stopped_ = absl::UnavailableError(absl::StrCat("the data set ", command_.data, " seems to be gone: ", unread_,
                                                 " images in a row could not be read, the last: ", status.message()));
}

// Returns true if an image that could be read or was answered before can still be read.
bool EvaluationRun::DataIsThere() const {
  const int64_t witness = readable_ >= 0 ? readable_ : answered_;
  return witness >= 0 && data_->encoded(witness).ok();
}

}  // namespace vitrine
