#include "client/eval/run.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/eval/fate.h"
#include "client/eval/journal.h"
#include "client/eval/prepare.h"
#include "client/eval/read_ahead.h"
#include "client/eval/run_progress.h"
#include "client/in_flight_limit.h"
#include "client/text.h"

namespace vitrine {
namespace {

constexpr int kMostDoubtful = 3;  // how often a picture is asked that the server answers with a defect
constexpr absl::Duration kFirstWait = absl::Milliseconds(200);
constexpr absl::Duration kLongestWait = absl::Seconds(5);
constexpr absl::Duration kNap = absl::Milliseconds(100);

double UnixSeconds(absl::Time time) {
  return static_cast<double>(absl::ToUnixMillis(time)) / 1000;
}

// A tenth of a microsecond is what a clock is worth, and keeps the journal short.
double RoundedSeconds(double seconds) {
  return std::round(seconds * 1e7) / 1e7;
}

std::string Words(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

// One call of RunEvaluation.
class Run {
 public:
  Run(const EvalCommand& command, ProgressDisplay& display, const std::atomic<bool>* stop)
      : command_(command), display_(display), stop_(stop), limit_(command.client.max_in_flight) {}

  absl::StatusOr<EvalResult> Do();

 private:
  // Before the first picture.
  absl::Status OpenJournal();
  absl::Status CountUnlabelled();

  // The pictures. A round asks each that is pending, until the server is lost or everything was asked once.
  void AskRound();
  std::optional<absl::StatusOr<v1::ClassifyRequest>> NextRequest(ReadAhead& reader, const std::vector<int64_t>& order);
  void Deliver(TracedResult traced);
  void TakeAnswer(Prediction prediction, const v1::ClassifyResponse& answer);
  void TakeError(Prediction prediction, const absl::Status& status);
  void AskAgain(int64_t index, const absl::Status& status);
  void Record(const Prediction& prediction);
  Prediction Begin(int64_t index) const;
  v1::ClassifyRequest Template() const;

  // Between rounds.
  void AwaitServer();
  absl::Status Reconnect(absl::Duration most);
  bool Nap(absl::Duration duration, const std::string& why);
  absl::Duration NextWait();

  bool Stopping() const { return !stopped_.ok() || (stop_ != nullptr && *stop_); }
  absl::Status WhyStopped() const;

  const EvalCommand& command_;
  ProgressDisplay& display_;
  const std::atomic<bool>* const stop_;

  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Client> client_;
  Evaluation evaluation_;
  std::optional<Journal> journal_;
  std::unique_ptr<RunProgress> progress_;
  InFlightLimit limit_;
  absl::BitGen random_;

  struct Trouble {
    absl::Time since = absl::Now();  // of its first error
    absl::Status last = {};
    int attempts = 0;
    int doubts = 0;
  };
  std::map<int64_t, Trouble> trouble_;          // pictures that are asked again, or were given up
  std::vector<int64_t> pending_;                // to be asked
  std::vector<int64_t> again_;                  // asked in this round without success
  std::deque<int64_t> asked_;                   // in this round, in order, until delivered
  size_t position_ = 0;                         // in this round's order
  absl::Status away_;                           // why nothing can be asked for now
  absl::Time silent_ = absl::InfiniteFuture();  // since when nothing came; future: it does
  int waits_ = 0;                               // since the last picture became known
  absl::Status stopped_;
};

absl::Status Run::OpenJournal() {
  const std::vector<int64_t> chosen = ChosenPictures(evaluation_.settings);
  ASSIGN_OR_RETURN(Journal journal, Journal::Open(command_.out, command_.restart, evaluation_));
  journal_.emplace(std::move(journal));
  progress_ = std::make_unique<RunProgress>(display_, evaluation_.expected);
  std::set<int64_t> known;
  for (const Prediction& prediction : evaluation_.predictions) {
    known.insert(prediction.index);
    progress_->Count(prediction, /*again=*/true);
  }
  for (const int64_t index : chosen) {
    if (!known.contains(index)) pending_.push_back(index);
  }
  if (!known.empty()) {
    display_.Line(absl::StrCat("vitrine: ", command_.out, " knows ", known.size(), " pictures already; ",
                               pending_.size(), " are left"));
  }
  if (pending_.empty()) return absl::OkStatus();
  const double now = UnixSeconds(absl::Now());
  return journal_->BeginSession({.start = now, .end = now, .server = command_.client.address});
}

absl::Status Run::CountUnlabelled() {
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

Prediction Run::Begin(int64_t index) const {
  Prediction prediction{.index = index, .name = data_->name(index), .data_label = data_->label(index), .attempts = 0};
  prediction.label = evaluation_.settings.label_map[static_cast<size_t>(prediction.data_label)];
  prediction.at = UnixSeconds(absl::Now());
  return prediction;
}

v1::ClassifyRequest Run::Template() const {
  v1::ClassifyRequest request;
  request.set_model(evaluation_.model.model());
  request.set_version(evaluation_.model.version());
  request.set_top_k(std::min(command_.top_k, evaluation_.model.labels_size()));
  request.set_priority(command_.priority);
  if (command_.resolution.has_value()) *request.mutable_resolution() = *command_.resolution;
  return request;
}

absl::StatusOr<EvalResult> Run::Do() {
  ASSIGN_OR_RETURN(PreparedRun prepared, PrepareRun(command_, display_));
  data_ = std::move(prepared.data);
  client_ = std::move(prepared.client);
  evaluation_ = std::move(prepared.evaluation);
  RETURN_IF_ERROR(OpenJournal());
  RETURN_IF_ERROR(CountUnlabelled());
  while (!pending_.empty() && !Stopping()) {
    const int64_t before = progress_->known();
    AskRound();
    if (Stopping()) break;
    if (!away_.ok()) {
      AwaitServer();
    } else if (!pending_.empty() && progress_->known() == before) {
      Nap(NextWait(), "the server has no time");
    }
  }
  if (progress_->asked() > 0) progress_->DrawEnd(limit_.limit(), absl::Now());
  if (const absl::Status synced = journal_->Sync(); stopped_.ok()) stopped_ = synced;
  journal_.reset();
  // What counts is what was written.
  ASSIGN_OR_RETURN(Evaluation whole, ReadEvaluation(command_.out));
  RETURN_IF_ERROR(WriteEvaluation(command_.out, whole));
  return EvalResult{.evaluation = std::move(whole), .stopped = WhyStopped()};
}

void Run::AskRound() {
  const std::vector<int64_t> order = std::exchange(pending_, {});
  position_ = 0;
  asked_.clear();
  away_ = absl::OkStatus();
  {
    ReadAhead reader(*data_, order);
    const absl::Status ended = client_->ClassifyTraced(
        [&] { return NextRequest(reader, order); }, [&](TracedResult traced) { Deliver(std::move(traced)); }, &limit_);
    if (!ended.ok() && away_.ok()) away_ = ended;
  }
  pending_.assign(order.begin() + static_cast<ptrdiff_t>(position_), order.end());
  pending_.insert(pending_.end(), again_.begin(), again_.end());
  again_.clear();
}

std::optional<absl::StatusOr<v1::ClassifyRequest>> Run::NextRequest(ReadAhead& reader,
                                                                    const std::vector<int64_t>& order) {
  while (position_ < order.size() && away_.ok() && !Stopping()) {
    const int64_t index = order[position_++];
    absl::StatusOr<std::string> picture = reader.Next();
    if (!picture.ok()) {
      Prediction prediction = Begin(index);
      prediction.outcome = Outcome::kUnreadable;
      prediction.code = picture.status().code();
      prediction.reason = std::string(picture.status().message());
      Record(prediction);
      continue;
    }
    asked_.push_back(index);
    v1::ClassifyRequest request = Template();
    request.set_image(*std::move(picture));
    return request;
  }
  return std::nullopt;
}

void Run::Deliver(TracedResult traced) {
  Prediction prediction = Begin(asked_.front());
  asked_.pop_front();
  const auto trouble = trouble_.find(prediction.index);
  prediction.attempts = traced.attempts + (trouble == trouble_.end() ? 0 : trouble->second.attempts);
  prediction.seconds.client = RoundedSeconds(absl::ToDoubleSeconds(traced.latency));
  if (traced.result.ok()) {
    TakeAnswer(std::move(prediction), *traced.result);
  } else {
    TakeError(std::move(prediction), traced.result.status());
  }
  progress_->Draw(limit_.limit(), absl::Now());
}

void Run::TakeAnswer(Prediction prediction, const v1::ClassifyResponse& answer) {
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
  const v1::Timings& t = answer.timings();
  prediction.seconds = {RoundedSeconds(t.queue()),  RoundedSeconds(t.decode()), RoundedSeconds(t.compute()),
                        RoundedSeconds(t.encode()), RoundedSeconds(t.total()),  prediction.seconds.client};
  prediction.tokens = answer.grid().rows() * answer.grid().columns();
  prediction.served_by = absl::StrCat(by.precision(), " ", by.device());
  trouble_.erase(prediction.index);
  Record(prediction);
}

void Run::TakeError(Prediction prediction, const absl::Status& status) {
  const int64_t index = prediction.index;
  Fate fate = FateOf(status);
  Trouble& trouble = trouble_[index];
  trouble.attempts = prediction.attempts;
  trouble.last = status;
  if (fate == Fate::kDoubtful && ++trouble.doubts >= kMostDoubtful) fate = Fate::kRefused;
  switch (fate) {
    case Fate::kRefused:
      prediction.outcome = Outcome::kRefused;
      prediction.code = status.code();
      prediction.reason = std::string(status.message());
      trouble_.erase(index);
      return Record(prediction);
    case Fate::kHopeless:
      if (stopped_.ok()) stopped_ = status;
      return;
    case Fate::kAway:
      if (away_.ok()) away_ = status;
      break;
    case Fate::kLater:
    case Fate::kDoubtful:
      break;
  }
  const absl::Time now = absl::Now();
  silent_ = std::min(silent_, now);
  if (fate != Fate::kAway && now - silent_ > command_.patience && stopped_.ok()) {
    stopped_ = absl::Status(
        status.code(),
        absl::StrCat("nothing was answered for ", absl::FormatDuration(command_.patience), ": ", status.message()));
  }
  // Beyond the patience it stays unknown, and in `trouble_`. While the server is away no picture is to blame.
  if (fate == Fate::kAway || now - trouble.since < command_.patience) again_.push_back(index);
}

void Run::Record(const Prediction& prediction) {
  if (const absl::Status written = journal_->Append(prediction); !written.ok()) {
    if (stopped_.ok()) stopped_ = written;
    return;
  }
  silent_ = absl::InfiniteFuture();
  waits_ = 0;
  progress_->Count(prediction, /*again=*/false);
}

void Run::AwaitServer() {
  silent_ = std::min(silent_, absl::Now());
  if (waits_ == 0) {
    progress_->Line(absl::StrCat("vitrine: the server is away (", Printable(away_.message()), "); waiting up to ",
                                 absl::FormatDuration(command_.patience)));
  }
  while (!Stopping()) {
    const absl::Duration left = silent_ + command_.patience - absl::Now();
    if (left <= absl::ZeroDuration()) {
      stopped_ =
          absl::UnavailableError(absl::StrCat("the server at ", command_.client.address, " did not come back within ",
                                              absl::FormatDuration(command_.patience), ": ", away_.message()));
      return;
    }
    if (!Nap(std::min(NextWait(), left), absl::StrCat("waiting for the server, ", Words(left), " yet"))) return;
    const absl::Status back = Reconnect(silent_ + command_.patience - absl::Now());
    if (back.ok()) return;
    away_ = back;
  }
}

absl::Status Run::Reconnect(absl::Duration most) {
  client_.reset();  // its channel waits longer and longer between attempts
  ClientOptions options = command_.client;
  options.connect_timeout = std::clamp(most, absl::Milliseconds(100), options.connect_timeout);
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client, Client::Connect(options));
  const v1::ModelVersion& expected = evaluation_.model;
  ASSIGN_OR_RETURN(const v1::ModelVersion model, client->GetModel(expected.model(), expected.version()));
  if (model.state() != v1::READY) {
    return absl::UnavailableError(absl::StrCat(model.model(), "@", model.version(), " is not ready"));
  }
  client_ = std::move(client);
  if (model.weights_sha256() != expected.weights_sha256()) {
    stopped_ = absl::FailedPreconditionError(absl::StrCat("the server came back with other weights of ", model.model(),
                                                          "@", model.version(), ": ", model.weights_sha256(),
                                                          " instead of ", expected.weights_sha256()));
  }
  return absl::OkStatus();
}

// In small pieces, so that the line moves and a stop is obeyed; false: stopped.
bool Run::Nap(absl::Duration duration, const std::string& why) {
  for (const absl::Time end = absl::Now() + duration; absl::Now() < end;) {
    if (Stopping()) return false;
    progress_->DrawWaiting(why, absl::Now());
    absl::SleepFor(std::min(kNap, end - absl::Now()));
  }
  return !Stopping();
}

absl::Duration Run::NextWait() {
  const absl::Duration wait = std::min(kFirstWait * std::exp2(std::min(waits_, 10)), kLongestWait);
  ++waits_;
  return wait * absl::Uniform(random_, 0.5, 1.0);
}

absl::Status Run::WhyStopped() const {
  if (!stopped_.ok()) return stopped_;
  if (stop_ != nullptr && *stop_ && progress_->known() < evaluation_.expected) {
    return absl::CancelledError("the run was stopped");
  }
  if (trouble_.empty() || progress_->known() == evaluation_.expected) return absl::OkStatus();
  const auto& [index, first] = *trouble_.begin();
  return absl::Status(first.last.code(), absl::StrCat(trouble_.size(), " pictures got no answer within ",
                                                      absl::FormatDuration(command_.patience), ", the first of them ",
                                                      data_->name(index), ": ", first.last.message()));
}

}  // namespace

absl::StatusOr<EvalResult> RunEvaluation(const EvalCommand& command, ProgressDisplay& progress,
                                         const std::atomic<bool>* stop) {
  if (command.out.empty()) return absl::InvalidArgumentError("--out names the folder of the results");
  if (command.top_k < 5) return absl::InvalidArgumentError("top_k must be at least 5, for the top-5 accuracy");
  return Run(command, progress, stop).Do();
}

}  // namespace vitrine
