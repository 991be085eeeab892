// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands/output/text.h"
#include "client/eval/calibrate.h"
#include "client/eval/eval_gates.h"
#include "client/eval/likelihood.h"
#include "client/eval/run/evaluation_run.h"
#include "client/eval/run/prepare.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

double UnixSeconds(absl::Time time) {
  return static_cast<double>(absl::ToUnixMillis(time)) / 1000;
}

// Rounds to 0.1 us, about the resolution of the clock, to keep the journal short. A non-finite time becomes 0.
double RoundedSeconds(double seconds) {
  return std::isfinite(seconds) ? std::round(seconds * 1e7) / 1e7 : 0;
}

bool Failed(const Prediction& prediction) {
  return prediction.outcome == Outcome::kUnreadable || prediction.outcome == Outcome::kRefused;
}

}  // namespace

absl::Status EvaluationRun::OpenJournal(std::unique_ptr<Client> client, std::vector<int64_t>& pending) {
  const std::vector<int64_t> chosen = ChosenImages(evaluation_.settings);
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(command_.out, command_.restart, evaluation_));
  journal_.emplace(std::move(journal));
  progress_ = std::make_unique<RunProgress>(display_, evaluation_.expected);
  rounds_ = std::make_unique<ImageRounds>(
      ImageRounds::Options{
          .client = command_.client, .patience = command_.patience, .source = command_.data, .stop = stop_},
      *data_, evaluation_.model, std::move(client), *progress_, *this);
  std::set<int64_t> known;
  for (const Prediction& prediction : evaluation_.predictions) {
    if (command_.retry_failed && Failed(prediction)) continue;
    known.insert(prediction.index);
    if (prediction.outcome == Outcome::kAnswered) rounds_->KnowAnswered(prediction.index);
    progress_->Count(prediction, /*again=*/true);
  }
  for (const int64_t index : chosen) {
    if (!known.contains(index)) pending.push_back(index);
  }
  if (!known.empty()) {
    progress_->Line(absl::StrCat("vitrine: ", Printable(command_.out), " has results of ", known.size(),
                                 " images already; ", pending.size(), " are left"));
  }
  if (pending.empty()) return absl::OkStatus();
  const double now = UnixSeconds(absl::Now());
  return journal_->BeginSession({.start = now, .end = now, .server = command_.client.address});
}

void EvaluationRun::CountUnlabelled(std::vector<int64_t>& pending) {
  std::vector<int64_t> labelled;
  for (const int64_t index : pending) {
    Prediction prediction = Begin({.index = index});
    if (prediction.label >= 0) {
      labelled.push_back(index);
      continue;
    }
    prediction.outcome = Outcome::kUnlabelled;
    prediction.reason = absl::StrCat("the model has no class \"",
                                     evaluation_.data_labels[static_cast<size_t>(prediction.data_label)], "\"");
    Record(prediction);
  }
  pending = std::move(labelled);
}

Prediction EvaluationRun::Begin(const SentImage& image) const {
  const int64_t index = image.index;
  Prediction prediction{
      .index = index, .name = data_->name(index), .data_label = data_->label(index), .attempts = image.attempts};
  prediction.label = evaluation_.settings.label_map[static_cast<size_t>(prediction.data_label)];
  prediction.seconds.client = RoundedSeconds(absl::ToDoubleSeconds(image.latency));
  prediction.at = UnixSeconds(absl::Now());
  return prediction;
}

v1::ClassifyRequest EvaluationRun::RequestWith(std::string image) const {
  v1::ClassifyRequest request;
  request.set_model(evaluation_.model.model());
  request.set_version(evaluation_.model.version());
  const int classes = evaluation_.model.labels_size();
  request.set_top_k(classes <= kMostClassesRequested ? classes : std::min(command_.top_k, classes));
  request.set_priority(command_.priority);
  if (command_.resolution.has_value()) *request.mutable_resolution() = *command_.resolution;
  request.set_image(std::move(image));
  return request;
}

void EvaluationRun::Record(const Prediction& prediction) {
  if (const absl::Status written = journal_->Append(prediction); !written.ok()) return rounds_->Stop(written);
  progress_->Count(prediction, /*again=*/false);
}

absl::Status EvaluationRun::TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer) {
  const v1::ModelVersion& model = evaluation_.model;
  Prediction prediction = Begin(image);
  for (const v1::Prediction& guess : answer.predictions()) {
    prediction.guesses.push_back({guess.index(), guess.probability()});
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
  prediction.served_by = absl::StrCat(answer.served_by().precision(), " ", answer.served_by().device());
  Record(prediction);
  return absl::OkStatus();
}

void EvaluationRun::TakeFailure(const SentImage& image, Outcome outcome, const absl::Status& why) {
  Prediction prediction = Begin(image);
  prediction.outcome = outcome;
  prediction.code = why.code();
  prediction.reason = std::string(why.message());
  Record(prediction);
}

absl::StatusOr<EvalResult> EvaluationRun::Do() {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(command_, display_, stop_));
  data_ = std::move(prepared.data);
  evaluation_ = std::move(prepared.evaluation);
  RETURN_IF_ERROR(CheckEvalGates(command_.gates, evaluation_.model, command_.top_k));
  std::vector<int64_t> pending;
  RETURN_IF_ERROR(OpenJournal(std::move(prepared.client), pending));
  if (command_.keep_logits) RETURN_IF_ERROR(CheckCalibratable(evaluation_, command_.top_k));
  CountUnlabelled(pending);
  rounds_->Ask(std::move(pending));
  if (progress_->asked() > 0) progress_->DrawEnd(rounds_->in_flight(), absl::Now());
  if (const absl::Status synced = journal_->Sync(); !synced.ok()) rounds_->Stop(synced);
  journal_.reset();
  // Reads the journal back, so that the files agree with it.
  ASSIGN_OR_RETURN(Evaluation whole, ReadEvaluation(command_.out));
  RETURN_IF_ERROR(WriteEvaluation(command_.out, whole));
  return EvalResult{.evaluation = std::move(whole), .stopped = rounds_->Ended()};
}

absl::StatusOr<EvalResult> RunEvaluation(const EvalCommand& command, ProgressDisplay& progress,
                                         const std::atomic<bool>* stop) {
  if (command.out.empty()) return absl::InvalidArgumentError("--out is missing, the folder for the results");
  if (command.top_k < 5) return absl::InvalidArgumentError("top_k must be at least 5, for the top-5 accuracy");
  return EvaluationRun(command, progress, stop).Do();
}

}  // namespace vitrine
