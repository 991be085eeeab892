#include <atomic>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "data/dataset.h"

namespace vitrine {
namespace {

class CachedDataset final : public Dataset {
 public:
  CachedDataset(std::unique_ptr<Dataset> source, std::vector<Image> images)
      : source_(std::move(source)), images_(std::move(images)) {
    labels_ = source_->labels();
  }

  int64_t size() const override { return source_->size(); }
  int label(int64_t index) const override { return source_->label(index); }
  std::string name(int64_t index) const override { return source_->name(index); }
  absl::StatusOr<Image> image(int64_t index) const override { return images_[index]; }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return source_->encoded(index); }

 private:
  const std::unique_ptr<Dataset> source_;
  const std::vector<Image> images_;
};

// What the decoding threads share.
class Filling {
 public:
  Filling(const Dataset& source, int64_t max_bytes) : source_(source), max_bytes_(max_bytes), images_(source.size()) {}

  // Decodes pictures that no other thread has taken until none is left or one failed.
  void Work() {
    for (int64_t index; !failed_ && (index = next_++) < source_.size();) {
      absl::StatusOr<Image> image = source_.image(index);
      if (!image.ok()) return Fail(std::move(image).status());
      bytes_ += static_cast<int64_t>(image->pixels.size());
      if (bytes_ > max_bytes_) {
        return Fail(absl::ResourceExhaustedError(
            absl::StrCat("the decoded pictures need more than ", max_bytes_, " bytes; train without the cache")));
      }
      images_[index] = *std::move(image);
    }
  }

  absl::StatusOr<std::vector<Image>> Take() {
    absl::MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    return std::move(images_);
  }

 private:
  void Fail(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = std::move(status);
    failed_ = true;
  }

  const Dataset& source_;
  const int64_t max_bytes_;
  std::vector<Image> images_;  // each element is written by one thread, read after all have joined
  std::atomic<int64_t> next_ = 0;
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<bool> failed_ = false;
  absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> CacheInMemory(std::unique_ptr<Dataset> dataset, int threads,
                                                       int64_t max_bytes) {
  Filling filling(*dataset, max_bytes);
  std::vector<std::thread> workers;
  for (int i = 1; i < threads; ++i) workers.emplace_back([&filling] { filling.Work(); });
  filling.Work();
  for (std::thread& worker : workers) worker.join();
  absl::StatusOr<std::vector<Image>> images = filling.Take();
  if (!images.ok()) return images.status();
  return std::make_unique<CachedDataset>(std::move(dataset), *std::move(images));
}

}  // namespace vitrine
