// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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

bool Failed(const Prediction& prediction) {
  return prediction.outcome == Outcome::kUnreadable || prediction.outcome == Outcome::kRefused;
}

}  // namespace

absl::Status EvaluationRun::OpenJournal() {
  const std::vector<int64_t> chosen = ChosenImages(evaluation_.settings);
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(command_.out, command_.restart, evaluation_));
  journal_.emplace(std::move(journal));
  RETURN_IF_ERROR(CheckSameImages());
  progress_ = std::make_unique<RunProgress>(display_, evaluation_.expected);
  std::set<int64_t> known;
  for (const Prediction& prediction : evaluation_.predictions) {
    if (command_.retry_failed && Failed(prediction)) continue;
    known.insert(prediction.index);
    if (prediction.outcome == Outcome::kAnswered) answered_ = prediction.index;
    progress_->Count(prediction, /*again=*/true);
  }
  for (const int64_t index : chosen) {
    if (!known.contains(index)) pending_.push_back(index);
  }
  if (!known.empty()) {
    display_.Line(absl::StrCat("vitrine: ", command_.out, " has results of ", known.size(), " images already; ",
                               pending_.size(), " are left"));
  }
  if (pending_.empty()) return absl::OkStatus();
  const double now = UnixSeconds(absl::Now());
  return journal_->BeginSession({.start = now, .end = now, .server = command_.client.address});
}

absl::Status EvaluationRun::CheckSameImages() const {
  for (const Prediction& p : evaluation_.predictions) {
    if (data_->name(p.index) == p.name && data_->label(p.index) == p.data_label) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(command_.out, " holds another evaluation: image ", p.index, " was ", p.name, " with label ",
                     p.data_label, ", now it is ", data_->name(p.index), " with label ", data_->label(p.index),
                     "; give another --out, or --restart to discard its ", evaluation_.predictions.size(), " images"));
  }
  return absl::OkStatus();
}

absl::Status EvaluationRun::CountUnlabelled() {
  std::vector<int64_t> labelled;
  for (const int64_t index : pending_) {
    Prediction prediction = Begin(index);
    if (prediction.label >= 0) {
      labelled.push_back(index);
      continue;
    }
    prediction.outcome = Outcome::kUnlabelled;
    prediction.reason = absl::StrCat("the model has no class \"",
                                     evaluation_.data_labels[static_cast<size_t>(prediction.data_label)], "\"");
    Record(prediction);
  }
  pending_ = std::move(labelled);
  return stopped_;
}

Prediction EvaluationRun::Begin(int64_t index) const {
  Prediction prediction{.index = index, .name = data_->name(index), .data_label = data_->label(index), .attempts = 0};
  prediction.label = evaluation_.settings.label_map[static_cast<size_t>(prediction.data_label)];
  prediction.at = UnixSeconds(absl::Now());
  return prediction;
}

v1::ClassifyRequest EvaluationRun::RequestWith(std::string image) const {
  v1::ClassifyRequest request;
  request.set_model(evaluation_.model.model());
  request.set_version(evaluation_.model.version());
  const int classes = evaluation_.model.labels_size();
  request.set_top_k(classes <= kMostClassesAsked ? classes : std::min(command_.top_k, classes));
  request.set_priority(command_.priority);
  if (command_.resolution.has_value()) *request.mutable_resolution() = *command_.resolution;
  request.set_image(std::move(image));
  return request;
}

void EvaluationRun::Record(const Prediction& prediction) {
  trouble_.erase(prediction.index);
  if (const absl::Status written = journal_->Append(prediction); !written.ok()) {
    if (stopped_.ok()) stopped_ = written;
    return;
  }
  patience_.Progressed();
  progress_->Count(prediction, /*again=*/false);
}

absl::StatusOr<EvalResult> EvaluationRun::Do() {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(command_, display_, stop_));
  data_ = std::move(prepared.data);
  client_ = std::move(prepared.client);
  evaluation_ = std::move(prepared.evaluation);
  RETURN_IF_ERROR(CheckEvalGates(command_.gates, evaluation_.model, command_.top_k));
  RETURN_IF_ERROR(OpenJournal());
  if (command_.keep_logits) RETURN_IF_ERROR(CheckCalibratable(evaluation_, command_.top_k));
  RETURN_IF_ERROR(CountUnlabelled());
  while (!(pending_.empty() && suspects_.empty()) && !Stopping()) {
    const int64_t before = progress_->known();
    AskRound();
    if (Stopping()) break;
    if (!away_.ok()) {
      AwaitServer();
    } else if (!pending_.empty() && progress_->known() == before) {
      Nap(patience_.NextWait(), "retrying soon");
    }
  }
  if (progress_->asked() > 0) progress_->DrawEnd(limit_.limit(), absl::Now());
  if (const absl::Status synced = journal_->Sync(); stopped_.ok()) stopped_ = synced;
  journal_.reset();
  // Reads the journal back, so that the files agree with it.
  ASSIGN_OR_RETURN(Evaluation whole, ReadEvaluation(command_.out));
  RETURN_IF_ERROR(WriteEvaluation(command_.out, whole));
  return EvalResult{.evaluation = std::move(whole), .stopped = WhyStopped()};
}

void EvaluationRun::AskRound() {
  const bool cautious = !suspects_.empty();
  away_ = absl::OkStatus();
  if (!cautious && !repeats_) {
    away_ = Reconnect(command_.patience);
    if (!away_.ok() || Stopping()) return;
  }
  const std::vector<int64_t> order = std::exchange(cautious ? suspects_ : pending_, {});
  round_ = {};
  InFlightLimit one(1);
  {
    ReadAhead reader(*data_, order);
    const absl::Status ended = client_->ClassifyTraced([&] { return NextRequest(reader, order); },
                                                       [&](TracedResult traced) { Deliver(std::move(traced)); },
                                                       cautious ? &one : &limit_, [this] { return SendsNoMore(); });
    if (!ended.ok() && away_.ok()) away_ = ended;
  }
  SortOutLost(cautious, {order.begin() + static_cast<ptrdiff_t>(round_.position), order.end()});
}

// Distributes the round's images without a result to the next rounds.
void EvaluationRun::SortOutLost(bool cautious, std::vector<int64_t> rest) {
  rest.insert(rest.begin(), round_.unsent.begin(), round_.unsent.end());
  if (round_.lost.size() == 1 && proven_) {
    Strike(round_.lost.front());
    if (!trouble_.contains(round_.lost.front())) round_.lost.clear();  // the image has a result now
  }
  if (!away_.ok()) proven_ = false;
  if (cautious) {
    suspects_ = std::move(rest);
  } else {
    pending_ = std::move(rest);
  }
  pending_.insert(pending_.end(), round_.again.begin(), round_.again.end());
  suspects_.insert(suspects_.end(), round_.lost.begin(), round_.lost.end());
}

std::optional<absl::StatusOr<v1::ClassifyRequest>> EvaluationRun::NextRequest(ReadAhead& reader,
                                                                              const std::vector<int64_t>& order) {
  while (round_.position < order.size() && away_.ok() && !Stopping()) {
    const int64_t index = order[round_.position++];
    absl::StatusOr<std::string> image = reader.Next();
    if (!image.ok()) {
      TakeReadError(index, image.status());
      continue;
    }
    readable_ = index;
    unread_ = 0;
    round_.asked.push_back(index);
    return RequestWith(*std::move(image));
  }
  return std::nullopt;
}

bool EvaluationRun::SendsNoMore() {
  if (stop_ != nullptr && *stop_ && !said_stopping_) {
    said_stopping_ = true;
    const size_t most = std::min(round_.asked.size(), static_cast<size_t>(limit_.limit()));
    progress_->Line(
        absl::StrCat("vitrine: stopping: waiting for at most ", most, " answers; Ctrl-C again ends at once"));
  }
  return Stopping() || !away_.ok();
}

absl::Status EvaluationRun::WhyStopped() const {
  if (!stopped_.ok()) return stopped_;
  if (stop_ != nullptr && *stop_ && progress_->known() < evaluation_.expected) {
    return absl::CancelledError("the run was stopped");
  }
  if (trouble_.empty() || progress_->known() == evaluation_.expected) return absl::OkStatus();
  const auto& [index, first] = *trouble_.begin();
  return absl::Status(first.last.code(), absl::StrCat(trouble_.size(), " images got no answer, the first of them ",
                                                      data_->name(index), ": ", first.last.message()));
}

absl::StatusOr<EvalResult> RunEvaluation(const EvalCommand& command, ProgressDisplay& progress,
                                         const std::atomic<bool>* stop) {
  if (command.out.empty()) return absl::InvalidArgumentError("--out is missing, the folder for the results");
  if (command.top_k < 5) return absl::InvalidArgumentError("top_k must be at least 5, for the top-5 accuracy");
  return EvaluationRun(command, progress, stop).Do();
}

}  // namespace vitrine
