// SPDX-License-Identifier: Apache-2.0
#include "client/eval/data.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/data/file_names.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

class Escaped final : public Dataset {
 public:
  explicit Escaped(std::unique_ptr<Dataset> data) : data_(std::move(data)) {
    DescribeAs(*data_);
    for (std::string& label : labels_) label = EscapedBytes(label);
  }
  int64_t size() const override { return data_->size(); }
  int label(int64_t index) const override { return data_->label(index); }
  std::string name(int64_t index) const override { return EscapedBytes(data_->name(index)); }
  absl::StatusOr<Image> image(int64_t index) const override { return data_->image(index); }
  absl::StatusOr<std::string> encoded(int64_t index) const override { return data_->encoded(index); }

 private:
  const std::unique_ptr<Dataset> data_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenEvaluationData(const std::string& spec, const std::string& split) {
  constexpr std::string_view kShort = "cifar:";
  const std::string full = spec.starts_with(kShort) ? absl::StrCat("cifar10:", spec.substr(kShort.size())) : spec;
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, OpenDataset(full, split == "train" ? Split::kTrain : Split::kTest));
  return std::make_unique<Escaped>(std::move(data));
}

}  // namespace vitrine
