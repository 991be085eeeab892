// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/read_ahead.h"

#include <utility>

#include "common/imaging/header.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

absl::StatusOr<std::string> ReadSendable(const ImageSet& data, int64_t index) {
  ASSIGN_OR_RETURN(std::string bytes, data.encoded(index));
  RETURN_IF_ERROR(ReadHeader(bytes).status());
  return bytes;
}

}  // namespace

ReadAhead::ReadAhead(const ImageSet& data, std::vector<int64_t> indices, const Options& options)
    : data_(data), indices_(std::move(indices)), options_(options) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { Work(); });
}

ReadAhead::~ReadAhead() {
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

absl::StatusOr<std::string> ReadAhead::Next() {
  const absl::MutexLock lock(&mutex_);
  const size_t position = taken_;
  const auto is_ready = [this, position]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ready_.contains(position); };
  mutex_.Await(absl::Condition(&is_ready));
  absl::StatusOr<std::string> image = std::move(ready_.extract(position).mapped());
  ++taken_;
  if (image.ok()) bytes_ -= image->size();
  return image;
}

bool ReadAhead::HasRoomOrEnds() const {
  if (ending_ || begun_ == indices_.size() || begun_ == taken_) return true;
  return begun_ - taken_ < (rests_ ? options_.images / 2 : options_.images) && bytes_ < options_.bytes;
}

void ReadAhead::Work() {
  while (true) {
    size_t position = 0;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ReadAhead::HasRoomOrEnds));
      if (ending_ || begun_ == indices_.size()) return;
      position = begun_++;
      rests_ = begun_ - taken_ >= options_.images;
    }
    absl::StatusOr<std::string> image = ReadSendable(data_, indices_[position]);
    const absl::MutexLock lock(&mutex_);
    if (image.ok()) bytes_ += image->size();
    ready_.emplace(position, std::move(image));
  }
}

}  // namespace vitrine
