// SPDX-License-Identifier: Apache-2.0
// Outcome of each image of ImageRounds.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/eval/fate.h"
#include "client/eval/run/rounds.h"

namespace vitrine {
namespace {

constexpr int kMostDoubtful = 3;  // maximum attempts of an image if the server answers INTERNAL or similar
constexpr int kMostStrikes = 3;   // losses of the server, with only one image in flight, until this image is refused
constexpr int kMostReads = 3;     // attempts to read an image whose file is missing or unavailable
constexpr int kManyUnread = 16;   // consecutive unreadable images that indicate missing data

absl::Status CheckPredictions(const v1::ClassifyResponse& answer, int classes) {
  for (const v1::Prediction& guess : answer.predictions()) {
    if (guess.index() >= 0 && guess.index() < classes && std::isfinite(guess.probability())) continue;
    return absl::InternalError(absl::StrCat("the answer names class ", guess.index(), " with probability ",
                                            guess.probability(), "; the model has ", classes));
  }
  if (classes > 0 && answer.predictions().empty()) return absl::InternalError("the answer has no predictions");
  return absl::OkStatus();
}

}  // namespace

void ImageRounds::Deliver(TracedResult traced) {
  SentImage image{.index = round_.asked.front(), .attempts = traced.attempts, .latency = traced.latency};
  round_.asked.pop_front();
  if (const auto trouble = trouble_.find(image.index); trouble != trouble_.end()) {
    image.attempts += trouble->second.attempts;
  }
  const absl::Status& status = traced.result.status();
  if (traced.result.ok()) {
    TakeAnswer(image, *traced.result);
  } else if (absl::IsCancelled(status) && SendsNoMore()) {
    if (image.attempts > 0) trouble_[image.index].attempts = image.attempts;
    round_.unsent.push_back(image.index);
  } else if (absl::IsUnavailable(status)) {
    if (away_.ok()) away_ = status;
    Trouble& lost = trouble_[image.index];
    lost.attempts = image.attempts;
    lost.last = status;
    (traced.attempts > 0 ? round_.lost : round_.unsent).push_back(image.index);
  } else {
    TakeError(image, status);
  }
  progress_.Draw(limit_.limit(), absl::Now());
}

void ImageRounds::TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer) {
  const v1::ServedBy& by = answer.served_by();
  if (by.version() != model_.version() || by.weights_sha256() != model_.weights_sha256()) {
    stopped_ = absl::FailedPreconditionError(
        absl::StrCat("the server answered with version ", by.version(), " and weights ", by.weights_sha256(),
                     "; the run began with version ", model_.version(), " and weights ", model_.weights_sha256()));
    return;
  }
  absl::Status unusable = CheckPredictions(answer, model_.labels_size());
  if (unusable.ok()) unusable = user_.TakeAnswer(image, answer);
  if (!unusable.ok()) return TakeError(image, unusable);
  answered_ = image.index;
  proven_ = true;
  CountResult(image.index);
}

void ImageRounds::TakeError(const SentImage& image, const absl::Status& status) {
  Trouble& trouble = trouble_[image.index];
  trouble.attempts = image.attempts;
  trouble.last = status;
  switch (FateOf(status)) {
    case Fate::kRefused:
      return Fail(image, Outcome::kRefused, status);
    case Fate::kDoubtful:
      if (++trouble.doubts >= kMostDoubtful) return Fail(image, Outcome::kRefused, status);
      round_.again.push_back(image.index);
      return;
    case Fate::kHopeless:
      return Stop(status);
    case Fate::kAway:  // the image is not the cause
      if (away_.ok()) away_ = status;
      round_.unsent.push_back(image.index);
      return;
    case Fate::kLater:
      return AskLater(image.index, status);
  }
}

void ImageRounds::Fail(const SentImage& image, Outcome outcome, const absl::Status& why) {
  user_.TakeFailure(image, outcome, why);
  CountResult(image.index);
}

// Sends a rejected image at least three times in total, and until `patience` has passed since the second rejection.
// After that, the image stays without a result, in `trouble_`.
void ImageRounds::AskLater(int64_t index, const absl::Status& status) {
  const absl::Time now = absl::Now();
  patience_.Silent(now);
  if (patience_.Left(now) < absl::ZeroDuration() && silent_.ok()) {
    silent_ = absl::Status(status.code(), absl::StrCat("no answer came for ", absl::FormatDuration(options_.patience),
                                                       ": ", status.message()));
  }
  Trouble& trouble = trouble_[index];
  if (++trouble.refusals == 2) trouble.second = now;
  if (now - trouble.second < options_.patience) round_.again.push_back(index);
}

// Counts a loss of the server with only this image in flight. Requires that the server answered since its last loss.
void ImageRounds::Strike(int64_t index) {
  Trouble& trouble = trouble_[index];
  if (++trouble.strikes < kMostStrikes) return;
  const absl::Status last = trouble.last;
  Fail({.index = index, .attempts = trouble.attempts}, Outcome::kRefused,
       absl::Status(last.code(), absl::StrCat("the server was lost at every attempt: ", last.message())));
}

void ImageRounds::TakeReadError(int64_t index, const absl::Status& status) {
  // The source has changed since it was opened, so the image is not at fault.
  if (absl::IsFailedPrecondition(status)) return Stop(status);
  Trouble& trouble = trouble_[index];
  trouble.last = status;
  ++trouble.reads;
  // Errors other than NOT_FOUND and UNAVAILABLE are caused by the file's content.
  const bool is_missing = absl::IsNotFound(status), may_pass = is_missing || absl::IsUnavailable(status);
  if (!may_pass || (is_missing && trouble.reads >= kMostReads && DataIsThere())) {
    return Fail({.index = index}, Outcome::kUnreadable, status);
  }
  if (trouble.reads < kMostReads) round_.again.push_back(index);
  if (++unread_ < kManyUnread || DataIsThere() || !stopped_.ok()) return;
  stopped_ = absl::UnavailableError(absl::StrCat("the data set ", options_.source, " seems to be gone: ", unread_,
                                                 " images in a row could not be read, the last: ", status.message()));
}

// Returns true if an image that was read before can still be read. If no such image is known, uses an image that was
// answered before. Returns false if neither is known.
bool ImageRounds::DataIsThere() const {
  const int64_t witness = readable_ >= 0 ? readable_ : answered_;
  return witness >= 0 && data_.encoded(witness).ok();
}

}  // namespace vitrine
