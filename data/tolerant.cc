// SPDX-License-Identifier: Apache-2.0
#include "data/tolerant.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// So many pictures are named in the error; the report has named all.
constexpr size_t kNamedReasons = 5;

class ReplacingDataset final : public Dataset {
 public:
  ReplacingDataset(std::unique_ptr<Dataset> source, std::shared_ptr<CorruptPictures> corrupt)
      : source_(std::move(source)), corrupt_(std::move(corrupt)) {
    labels_ = source_->labels();
  }

  int64_t size() const override { return source_->size(); }
  int label(int64_t index) const override { return source_->label(index); }
  std::string name(int64_t index) const override { return source_->name(index); }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return source_->encoded(index); }
  absl::StatusOr<std::string> stored(int64_t index) const override { return source_->stored(index); }

  absl::StatusOr<Image> image(int64_t index) const override {
    const int wanted = source_->label(index);
    for (int64_t step = 0; step < source_->size(); ++step) {
      const int64_t candidate = (index + step) % source_->size();
      if (source_->label(candidate) != wanted) continue;
      absl::StatusOr<Image> picture = source_->image(candidate);
      if (picture.ok() || !CorruptPictures::IsCorrupt(picture.status())) return picture;
      RETURN_IF_ERROR(AddOnce(candidate, picture.status()));
    }
    return absl::DataLossError(absl::StrCat("no picture of the class ", labels_[wanted], " can be decoded"));
  }

 private:
  absl::Status AddOnce(int64_t index, const absl::Status& reason) const {
    {
      absl::MutexLock lock(&mutex_);
      if (!added_.insert(index).second) return absl::OkStatus();
    }
    return corrupt_->Add(source_->name(index), reason);
  }

  const std::unique_ptr<Dataset> source_;
  const std::shared_ptr<CorruptPictures> corrupt_;
  mutable absl::Mutex mutex_;
  mutable std::set<int64_t> added_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status CorruptPictures::Add(const std::string& name, const absl::Status& reason) {
  absl::MutexLock lock(&mutex_);
  names_.push_back(name);
  if (first_reasons_.size() < kNamedReasons) first_reasons_.emplace_back(reason.message());
  if (report_) report_(name, reason);
  const auto count = static_cast<int64_t>(names_.size());
  if (count <= limit_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(count, count == 1 ? " picture" : " pictures", " cannot be decoded, and ",
                                          limit_, limit_ == 1 ? " is" : " are",
                                          " tolerated (corrupt_limit): ", absl::StrJoin(first_reasons_, "; "),
                                          names_.size() > first_reasons_.size() ? "; ..." : ""));
}

int64_t CorruptPictures::count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(names_.size());
}

std::vector<std::string> CorruptPictures::names() const {
  absl::MutexLock lock(&mutex_);
  return names_;
}

std::unique_ptr<Dataset> ReplaceCorrupt(std::unique_ptr<Dataset> dataset, std::shared_ptr<CorruptPictures> corrupt) {
  return std::make_unique<ReplacingDataset>(std::move(dataset), std::move(corrupt));
}

}  // namespace vitrine
