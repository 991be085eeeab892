// SPDX-License-Identifier: Apache-2.0
#include "common/data/reduced.h"

#include <string>
#include <utility>

#include "common/imaging/decode_planned.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

class Reduced final : public Dataset {
 public:
  Reduced(std::unique_ptr<Dataset> source, v1::Preprocessing preprocessing)
      : source_(std::move(source)), preprocessing_(std::move(preprocessing)) {
    DescribeAs(*source_);
  }

  int64_t size() const override { return source_->size(); }
  int label(int64_t index) const override { return source_->label(index); }
  std::string name(int64_t index) const override { return source_->name(index); }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return source_->encoded(index); }
  absl::StatusOr<std::string> stored(int64_t index) const override { return source_->stored(index); }

  absl::StatusOr<Image> image(int64_t index) const override {
    ASSIGN_OR_RETURN(const std::string bytes, source_->encoded(index));
    absl::StatusOr<PlannedImage> planned = PlanAndDecode(bytes, preprocessing_);
    if (planned.ok()) return std::move(planned->image);
    // PlanAndDecode also rejects valid images whose shape a server does not accept. Training may use these images, so
    // the set's own decoding is tried. If the image is corrupt, this second decoding returns the error.
    return source_->image(index);
  }

 private:
  const std::unique_ptr<Dataset> source_;
  const v1::Preprocessing preprocessing_;
};

}  // namespace

std::unique_ptr<Dataset> MakeReduced(std::unique_ptr<Dataset> dataset, const v1::Preprocessing& preprocessing) {
  if (preprocessing.decode() != v1::Preprocessing::REDUCED) return dataset;
  return std::make_unique<Reduced>(std::move(dataset), preprocessing);
}

}  // namespace vitrine
