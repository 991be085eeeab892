// SPDX-License-Identifier: Apache-2.0
#include "client/score/local_scorer.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Batches in flight: one is computed, one waits for the engine, and one is being read or delivered.
constexpr size_t kBatches = 3;
// A batch has so many images that its computation takes about this time. So a stop does not wait long, and the cost of
// a batch is small beside its work.
constexpr absl::Duration kBatchTime = absl::Milliseconds(50);
constexpr size_t kMostImages = 256;
// Bytes of the files of a batch; a single larger file is allowed.
constexpr size_t kMostBytes = size_t{16} << 20;

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

absl::StatusOr<std::unique_ptr<LocalModel>> LoadLocally(const LocalChoice& local, const ModelChoice& choice) {
  if (!choice.label.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--model ", choice.name, "@", choice.label,
                                                   " names a label, which only a server resolves; with ",
                                                   "--repository give the number of a version"));
  }
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
  ReadAhead reader(data_, images);
  std::deque<std::unique_ptr<Batch>> running;  // their futures wait for the computation when they are destroyed
  size_t next = 0;
  while (stopped_.ok()) {
    while (running.size() < kBatches && next < images.size() && !Stopping()) {
      std::unique_ptr<Batch> batch = Read(reader, images, next);
      if (batch->indices.empty()) continue;
      batch->computed = std::async(std::launch::async, [this, &batch = *batch] { Compute(batch); });
      running.push_back(std::move(batch));
    }
    if (running.empty()) break;
    running.front()->computed.get();
    Take(*running.front());
    running.pop_front();
    progress_.Draw(in_flight(), absl::Now());
  }
  if (!stopped_.ok()) return stopped_;
  return next == images.size() ? absl::OkStatus() : absl::CancelledError("the run was stopped");
}

int LocalScorer::in_flight() const {
  return static_cast<int>(kBatches * most_);
}

void LocalScorer::Stop(const absl::Status& why) {
  if (stopped_.ok()) stopped_ = why;
}

std::unique_ptr<LocalScorer::Batch> LocalScorer::Read(ReadAhead& reader, const std::vector<int64_t>& images,
                                                      size_t& next) {
  auto batch = std::make_unique<Batch>();
  size_t bytes = 0;
  while (next < images.size() && batch->files.size() < most_ && bytes < kMostBytes && !Stopping()) {
    const int64_t index = images[next++];
    absl::StatusOr<std::string> file = reader.Next();
    if (!file.ok()) {
      TakeReadError(index, file.status());
      continue;
    }
    readable_ = index;
    bytes += file->size();
    batch->indices.push_back(index);
    batch->files.push_back(*std::move(file));
  }
  for (const std::string& file : batch->files) batch->images.push_back({user_.RequestWith(""), file});
  return batch;
}

void LocalScorer::TakeReadError(int64_t index, const absl::Status& why) {
  // The source has changed since it was opened, so the error says nothing about the image.
  if (absl::IsFailedPrecondition(why)) return Stop(why);
  const bool may_be_gone = absl::IsNotFound(why) || absl::IsUnavailable(why);
  if (may_be_gone && (readable_ < 0 || !data_.encoded(readable_).ok())) {
    return Stop(
        absl::UnavailableError(absl::StrCat("the data set ", options_.source, " seems to be gone: ", why.message())));
  }
  user_.TakeFailure({.index = index}, Outcome::kUnreadable, why);
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
    if (!failed.ok()) user_.TakeFailure(image, Outcome::kRefused, failed);
  }
  if (batch.took < kBatchTime && batch.indices.size() >= most_) most_ = std::min(2 * most_, kMostImages);
  if (batch.took > 4 * kBatchTime) most_ = std::max<size_t>(most_ / 2, 1);
}

}  // namespace vitrine
