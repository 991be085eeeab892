// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/data/dataset.h"
#include "common/data/parallel.h"
#include "common/data/subset.h"
#include "common/data/tolerant.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

class CachedDataset final : public Dataset {
 public:
  CachedDataset(std::unique_ptr<Dataset> source, std::vector<Image> images)
      : source_(std::move(source)), images_(std::move(images)) {
    DescribeAs(*source_);
  }

  int64_t size() const override { return source_->size(); }
  int label(int64_t index) const override { return source_->label(index); }
  std::string name(int64_t index) const override { return source_->name(index); }
  absl::StatusOr<Image> image(int64_t index) const override { return images_[index]; }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return source_->encoded(index); }
  absl::StatusOr<std::string> stored(int64_t index) const override { return source_->stored(index); }

 private:
  const std::unique_ptr<Dataset> source_;
  const std::vector<Image> images_;
};

// Decodes every image on several threads, passes each decoded image to `keep`, and returns the indices of the decoded
// images. Corrupt images are added to `corrupt`; if `corrupt` is null, the first error is returned.
absl::StatusOr<std::vector<int64_t>> DecodeAll(const Dataset& dataset, int threads, CorruptImages* corrupt,
                                               const std::function<absl::Status(int64_t, Image)>& keep) {
  absl::Mutex mutex;
  std::map<int64_t, absl::Status> reasons;
  RETURN_IF_ERROR(ParallelFor(dataset.size(), threads, [&](int64_t index) -> absl::Status {
    absl::StatusOr<Image> image = dataset.image(index);
    if (image.ok()) return keep(index, *std::move(image));
    if (corrupt == nullptr || !CorruptImages::IsCorrupt(image.status())) return image.status();
    const absl::MutexLock lock(&mutex);
    reasons.emplace(index, image.status());
    return absl::OkStatus();
  }));
  std::vector<int64_t> kept;
  for (int64_t index = 0; index < dataset.size(); ++index) {
    const auto found = reasons.find(index);
    if (found == reasons.end()) {
      kept.push_back(index);
    } else {
      corrupt->Add(found->second);
    }
  }
  return kept;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> CacheInMemory(std::unique_ptr<Dataset> dataset, int threads, int64_t max_bytes,
                                                       CorruptImages* corrupt) {
  // Each element is written by only one thread, and all threads have ended before the first read. So no lock is needed.
  std::vector<Image> images(dataset->size());
  std::atomic<int64_t> bytes = 0;
  ASSIGN_OR_RETURN(const std::vector<int64_t> kept,
                   DecodeAll(*dataset, threads, corrupt, [&](int64_t index, Image image) -> absl::Status {
                     bytes += static_cast<int64_t>(image.pixels.size());
                     images[index] = std::move(image);
                     if (bytes <= max_bytes) return absl::OkStatus();
                     return absl::ResourceExhaustedError(absl::StrCat("the decoded images need more than ", max_bytes,
                                                                      " bytes; train without the cache"));
                   }));
  if (kept.size() < images.size()) {
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] != static_cast<int64_t>(i)) images[i] = std::move(images[kept[i]]);
    }
    images.resize(kept.size());
    dataset = MakeSubset(std::move(dataset), kept);
  }
  return std::make_unique<CachedDataset>(std::move(dataset), std::move(images));
}

absl::StatusOr<std::unique_ptr<Dataset>> LeaveOutCorrupt(std::unique_ptr<Dataset> dataset, int threads,
                                                         CorruptImages& corrupt) {
  ASSIGN_OR_RETURN(std::vector<int64_t> kept,
                   DecodeAll(*dataset, threads, &corrupt, [](int64_t, const Image&) { return absl::OkStatus(); }));
  if (static_cast<int64_t>(kept.size()) == dataset->size()) return dataset;
  return MakeSubset(std::move(dataset), std::move(kept));
}

}  // namespace vitrine
