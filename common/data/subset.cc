// SPDX-License-Identifier: Apache-2.0
#include "common/data/subset.h"

#include <string>
#include <utility>

namespace vitrine {
namespace {

class Subset final : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> source, std::vector<int64_t> indices)
      : source_(std::move(source)), indices_(std::move(indices)) {
    DescribeAs(*source_);
  }

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  int label(int64_t index) const override { return source_->label(indices_[index]); }
  std::string name(int64_t index) const override { return source_->name(indices_[index]); }
  absl::StatusOr<Image> image(int64_t index) const override { return source_->image(indices_[index]); }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return source_->encoded(indices_[index]); }
  absl::StatusOr<std::string> stored(int64_t index) const override { return source_->stored(indices_[index]); }

 private:
  const std::shared_ptr<const Dataset> source_;
  const std::vector<int64_t> indices_;
};

}  // namespace

std::unique_ptr<Dataset> MakeSubset(std::shared_ptr<const Dataset> source, std::vector<int64_t> indices) {
  return std::make_unique<Subset>(std::move(source), std::move(indices));
}

}  // namespace vitrine
