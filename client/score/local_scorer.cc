// SPDX-License-Identifier: Apache-2.0
#include "client/score/local_scorer.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <future>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/eval/fate.h"
#include "common/imaging/header.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Number of batches in flight: the engine computes some of them while another batch is read or delivered.
constexpr size_t kBatches = 3;
// Target time from the start of a batch to its answers. The number of images in a batch is adapted to it. The time is
// short, because a stop waits for the batches in flight.
constexpr absl::Duration kBatchTime = absl::Milliseconds(50);
// Limits of a batch. A single image may have more bytes and pixels.
constexpr size_t kMostImages = 256;
constexpr size_t kMostBytes = size_t{8} << 20;  // of the image files
constexpr int64_t kMostPixels = int64_t{4} << 20;
constexpr size_t kReadAheadBytes = size_t{32} << 20;
constexpr int kMostReads = 3;  // attempts to read an image

int64_t PixelsOf(const std::string& file) {
  const absl::StatusOr<ImageHeader> header = ReadHeader(file);
  return header.ok() ? int64_t{header->width} * header->height : 0;
}

}  // namespace

struct LocalScorer::Batch {
  std::vector<int64_t> indices = {};
  std::vector<std::string> files = {};
  std::vector<LocalImage> images = {};  // `bytes` refer to `files`
  std::vector<absl::StatusOr<v1::ClassifyResponse>> answers = {};
  absl::Duration took = {};
  absl::Status failed = {};  // not OK: the engine threw an exception
  std::future<void> computed = {};
};

absl::Status CheckLocalChoice(const LocalChoice& local, const ModelChoice& choice) {
  if (local.repository.empty()) return absl::InvalidArgumentError("--repository is empty; give a folder");
  if (local.repository.find("://") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--repository ", local.repository, " is no folder; copy the model with vitrine-repo pull first"));
  }
  if (choice.label.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--model ", choice.name, "@", choice.label,
                                                 " names a label, which only a server resolves; with ",
                                                 "--repository give the number of a version"));
}

absl::StatusOr<std::unique_ptr<LocalModel>> LoadLocally(const LocalChoice& local, const ModelChoice& choice) {
  RETURN_IF_ERROR(CheckLocalChoice(local, choice));
  const std::optional<Precision> precision = ParsePrecision(local.precision);
  if (!precision.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--precision must be fp32, bf16 or int8, got \"", local.precision, "\""));
  }
  const std::string name = choice.version.has_value() ? absl::StrCat(choice.name, "@", *choice.version) : choice.name;
  ASSIGN_OR_RETURN(const VersionPlace place, FindVersion(local.repository, name));
  return LocalModel::Load(place, local.threads, *precision);
}

LocalScorer::LocalScorer(Options options, LocalModel& model, const ImageSet& data, RunProgress& progress,
                         RoundsClient& user)
    : options_(std::move(options)), model_(model), data_(data), progress_(progress), user_(user), most_(4) {}

LocalScorer::~LocalScorer() = default;

absl::Status LocalScorer::Score(std::vector<int64_t> images) {
  for (int attempt = 1; attempt <= kMostReads && !images.empty() && !Stopping(); ++attempt) {
    is_last_read_ = attempt == kMostReads;
    ScoreOnce(images);
    images = std::exchange(again_, {});
  }
  if (!stopped_.ok()) return stopped_;
  return images.empty() && !cut_short_ ? absl::OkStatus() : absl::CancelledError("the run was stopped");
}

void LocalScorer::ScoreOnce(const std::vector<int64_t>& images) {
  ReadAhead reader(data_, images, {.bytes = kReadAheadBytes});
  std::deque<std::unique_ptr<Batch>> running;  // the destructor of a batch waits for its computation
  size_t next = 0;
  while (stopped_.ok()) {
    while (running.size() < kBatches && (next < images.size() || held_.has_value()) && !Stopping()) {
      std::unique_ptr<Batch> batch = Read(reader, images, next);
      if (!batch->indices.empty()) Begin(std::move(batch), running);
    }
    if (running.empty()) break;
    SayIfStopping();
    running.front()->computed.get();
    Take(*running.front());
    running.pop_front();
    progress_.Draw(in_flight(), absl::Now());
  }
  cut_short_ = next < images.size() || held_.has_value();
  held_.reset();
}

void LocalScorer::SayIfStopping() {
  if (options_.stop == nullptr || !*options_.stop || said_stopping_) return;
  said_stopping_ = true;
  progress_.Line("vitrine: stopping: finishing the images that are begun; a second signal ends at once");
}

void LocalScorer::Stop(const absl::Status& why) {
  if (stopped_.ok()) stopped_ = why;
}

std::unique_ptr<LocalScorer::Batch> LocalScorer::Read(ReadAhead& reader, const std::vector<int64_t>& images,
                                                      size_t& next) {
  auto batch = std::make_unique<Batch>();
  size_t bytes = 0;
  int64_t pixels = 0;
  while (batch->files.size() < most_ && !Stopping()) {
    if (!held_.has_value()) {
      if (next == images.size()) break;
      const int64_t index = images[next++];
      absl::StatusOr<std::string> file = reader.Next();
      if (!file.ok()) {
        TakeReadError(index, file.status());
        continue;
      }
      readable_ = index;
      held_ = {index, *std::move(file)};
    }
    bytes += held_->second.size();
    pixels += PixelsOf(held_->second);
    if (!batch->files.empty() && (bytes > kMostBytes || pixels > kMostPixels)) break;
    batch->indices.push_back(held_->first);
    batch->files.push_back(std::move(held_->second));
    held_.reset();
  }
  for (const std::string& file : batch->files) batch->images.push_back({user_.RequestWith(""), file});
  return batch;
}

// Takes the error of a read. Unless this was the last read, an image that is missing or cannot be read now is read
// again later, because the file system may be busy.
void LocalScorer::TakeReadError(int64_t index, const absl::Status& why) {
  // The source has changed since it was opened, so the image is not at fault.
  if (absl::IsFailedPrecondition(why)) return Stop(why);
  const bool is_missing = absl::IsNotFound(why), may_pass = is_missing || absl::IsUnavailable(why);
  if (!may_pass) return user_.TakeFailure({.index = index}, Outcome::kUnreadable, why);
  if (!is_last_read_) return again_.push_back(index);
  if (readable_ < 0 || !data_.encoded(readable_).ok()) {
    return Stop(
        absl::UnavailableError(absl::StrCat("the data set ", options_.source, " seems to be gone: ", why.message())));
  }
  if (!is_missing) return Stop(why);
  user_.TakeFailure({.index = index}, Outcome::kUnreadable, why);
}

void LocalScorer::Begin(std::unique_ptr<Batch> batch, std::deque<std::unique_ptr<Batch>>& running) {
  try {
    batch->computed = std::async(std::launch::async, [this, &batch = *batch] { Compute(batch); });
    running.push_back(std::move(batch));
  } catch (const std::system_error&) {
    Stop(absl::ResourceExhaustedError("the system allows the process no more threads"));
  }
}

void LocalScorer::Compute(Batch& batch) {
  const absl::Time begin = absl::Now();
  try {
    batch.answers = model_.Run(std::move(batch.images));
  } catch (const std::exception& error) {
    batch.failed = absl::InternalError(absl::StrCat("the engine failed: ", error.what()));
  }
  batch.took = absl::Now() - begin;
}

void LocalScorer::Take(const Batch& batch) {
  if (!batch.failed.ok()) return Stop(batch.failed);
  for (size_t i = 0; i < batch.indices.size() && stopped_.ok(); ++i) {
    const SentImage image = {.index = batch.indices[i], .attempts = 1};
    absl::Status failed = batch.answers[i].status();
    if (failed.ok()) failed = user_.TakeAnswer(image, *batch.answers[i]);
    if (failed.ok()) continue;
    if (FateOf(failed) != Fate::kRefused) return Stop(failed);  // the image is not the cause, so it gets no row
    user_.TakeFailure(image, Outcome::kRefused, failed);
  }
  if (batch.took < kBatchTime && batch.indices.size() >= most_) most_ = std::min(2 * most_, kMostImages);
  if (batch.took > 4 * kBatchTime) most_ = std::max<size_t>(most_ / 2, 1);
}

}  // namespace vitrine
