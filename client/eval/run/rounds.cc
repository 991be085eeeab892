// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/rounds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace vitrine {

ImageRounds::ImageRounds(Options options, const ImageSet& data, v1::ModelVersion model, std::unique_ptr<Client> client,
                         RunProgress& progress, RoundsClient& user)
    : options_(std::move(options)),
      data_(data),
      model_(std::move(model)),
      client_(std::move(client)),
      progress_(progress),
      user_(user),
      limit_(options_.client.max_in_flight),
      patience_(options_.patience) {}

void ImageRounds::Stop(const absl::Status& why) {
  if (stopped_.ok()) stopped_ = why;
}

void ImageRounds::Ask(std::vector<int64_t> images) {
  missing_ += static_cast<int64_t>(images.size());
  pending_ = std::move(images);
  while (!(pending_.empty() && suspects_.empty()) && !Stopping()) {
    const int64_t before = missing_;
    AskRound();
    if (Stopping()) break;
    if (!away_.ok()) {
      AwaitServer();
    } else if (!silent_.ok()) {
      // If the server still answers an image that it has answered before, the silence is due to the unanswered images,
      // and the run continues.
      if (answered_ < 0 || !AskAnswered().ok()) Stop(silent_);
      silent_ = absl::OkStatus();
    } else if (!pending_.empty() && missing_ == before) {
      Nap(patience_.NextWait(), "retrying soon");
    }
  }
}

void ImageRounds::AskRound() {
  const bool cautious = !suspects_.empty();
  away_ = absl::OkStatus();
  if (!cautious && !repeats_) {
    away_ = Reconnect(options_.patience);
    if (!away_.ok() || Stopping()) return;
  }
  const std::vector<int64_t> order = std::exchange(cautious ? suspects_ : pending_, {});
  round_ = {};
  InFlightLimit one(1);
  {
    ReadAhead reader(data_, order);
    const absl::Status ended = client_->ClassifyTraced([&] { return NextRequest(reader, order); },
                                                       [&](TracedResult traced) { Deliver(std::move(traced)); },
                                                       cautious ? &one : &limit_, [this] { return SendsNoMore(); });
    if (!ended.ok() && away_.ok()) away_ = ended;
  }
  SortOutLost(cautious, {order.begin() + static_cast<ptrdiff_t>(round_.position), order.end()});
}

// Assigns the images that got no result in this round to the next rounds.
void ImageRounds::SortOutLost(bool cautious, std::vector<int64_t> rest) {
  rest.insert(rest.begin(), round_.unsent.begin(), round_.unsent.end());
  if (round_.lost.size() == 1 && proven_) {
    Strike(round_.lost.front());
    if (!trouble_.contains(round_.lost.front())) round_.lost.clear();  // Strike recorded the image as refused
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

std::optional<absl::StatusOr<v1::ClassifyRequest>> ImageRounds::NextRequest(ReadAhead& reader,
                                                                            const std::vector<int64_t>& order) {
  while (round_.position < order.size() && away_.ok() && silent_.ok() && !Stopping()) {
    const int64_t index = order[round_.position++];
    absl::StatusOr<std::string> image = reader.Next();
    if (!image.ok()) {
      TakeReadError(index, image.status());
      continue;
    }
    readable_ = index;
    unread_ = 0;
    round_.asked.push_back(index);
    return user_.RequestWith(*std::move(image));
  }
  return std::nullopt;
}

bool ImageRounds::SendsNoMore() {
  if (options_.stop != nullptr && *options_.stop && !said_stopping_) {
    said_stopping_ = true;
    const size_t most = std::min(round_.asked.size(), static_cast<size_t>(limit_.limit()));
    progress_.Line(
        absl::StrCat("vitrine: stopping: waiting for at most ", most, " answers; a second signal ends at once"));
  }
  return Stopping() || !away_.ok() || !silent_.ok();
}

// Counts the result, except after a stop: the result may then not have been stored.
void ImageRounds::CountResult(int64_t index) {
  trouble_.erase(index);
  if (!stopped_.ok()) return;
  --missing_;
  patience_.Progressed();
}

absl::Status ImageRounds::Ended() const {
  if (!stopped_.ok()) return stopped_;
  if (missing_ == 0) return absl::OkStatus();
  if (Stopping()) return absl::CancelledError("the run was stopped");
  if (trouble_.empty()) return absl::OkStatus();
  const auto& [index, first] = *trouble_.begin();
  return absl::Status(first.last.code(),
                      absl::StrCat(trouble_.size() == 1 ? "1 image has" : absl::StrCat(trouble_.size(), " images have"),
                                   " no result, the first of them ", data_.name(index), ": ", first.last.message()));
}

void ImageRounds::GiveUpUnanswered() {
  const bool stopping = Stopping(), data_is_there = DataIsThere();
  for (const auto& [index, trouble] : std::map<int64_t, Trouble>(trouble_)) {
    if (trouble.attempts > 0) {
      if (!stopping) Fail({.index = index, .attempts = trouble.attempts}, Outcome::kRefused, trouble.last);
    } else if (data_is_there && (!stopping || absl::IsNotFound(data_.encoded(index).status()))) {
      Fail({.index = index}, Outcome::kUnreadable, trouble.last);
    }
  }
}

}  // namespace vitrine
