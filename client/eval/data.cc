#include "client/eval/data.h"

#include "absl/strings/str_cat.h"

namespace vitrine {

absl::StatusOr<std::unique_ptr<Dataset>> OpenEvaluationData(const std::string& spec, const std::string& split) {
  constexpr std::string_view kShort = "cifar:";
  const std::string full = spec.starts_with(kShort) ? absl::StrCat("cifar10:", spec.substr(kShort.size())) : spec;
  return OpenDataset(full, split == "train" ? Split::kTrain : Split::kTest);
}

}  // namespace vitrine
