// SPDX-License-Identifier: Apache-2.0
#include "common/data/relabelled.h"

#include <utility>

namespace vitrine {
namespace {

class Relabelled final : public Dataset {
 public:
  Relabelled(std::unique_ptr<Dataset> source, std::vector<int32_t> classes, std::vector<std::string> labels)
      : source_(std::move(source)), classes_(std::move(classes)) {
    DescribeAs(*source_);
    labels_ = std::move(labels);
  }

  int64_t size() const override { return source_->size(); }
  int label(int64_t index) const override { return classes_[static_cast<size_t>(source_->label(index))]; }
  std::string name(int64_t index) const override { return source_->name(index); }
  absl::StatusOr<Image> image(int64_t index) const override { return source_->image(index); }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return source_->encoded(index); }
  absl::StatusOr<std::string> stored(int64_t index) const override { return source_->stored(index); }

 private:
  const std::unique_ptr<Dataset> source_;
  const std::vector<int32_t> classes_;
};

}  // namespace

std::unique_ptr<Dataset> MakeRelabelled(std::unique_ptr<Dataset> source, std::vector<int32_t> classes,
                                        std::vector<std::string> labels) {
  return std::make_unique<Relabelled>(std::move(source), std::move(classes), std::move(labels));
}

}  // namespace vitrine
