// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_READ_AHEAD_H_
#define VITRINE_CLIENT_EVAL_RUN_READ_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/data/dataset.h"

namespace vitrine {

// Prefetches the encoded images of an ImageSet on worker threads. Only one thread may call Next.
class ReadAhead {
 public:
  struct Options {
    int threads = 2;
    size_t images = 128;               // maximum number of prefetched images
    size_t bytes = size_t{128} << 20;  // maximum bytes of prefetched images; a single larger image is allowed
  };
  // `data` must outlive this object.
  ReadAhead(const ImageSet& data, std::vector<int64_t> indices, const Options& options);
  ReadAhead(const ImageSet& data, std::vector<int64_t> indices) : ReadAhead(data, std::move(indices), Options()) {}
  // Stops without reading the remaining images.
  ~ReadAhead();

  // Returns the next image in the order of `indices`, or the reason why it cannot be sent. Returns the errors of
  // ImageSet::encoded, and INVALID_ARGUMENT if the image is not a JPEG, PNG or WebP that servers accept
  // (common/imaging/header.h). Call once per index.
  absl::StatusOr<std::string> Next();

 private:
  void Work();
  bool HasRoomOrEnds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ImageSet& data_;
  const std::vector<int64_t> indices_;
  const Options options_;

  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;  // number of images whose reading has begun
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // number of images that Next has returned
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Set to true when Options::images images are prefetched, and to false when half of them were taken. While rests_ is
  // true, threads sleep, so that not every call of Next wakes a thread.
  bool rests_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<size_t, absl::StatusOr<std::string>> ready_ ABSL_GUARDED_BY(mutex_);  // by position

  std::vector<std::thread> threads_;  // last member, because the threads use the other members
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_READ_AHEAD_H_
