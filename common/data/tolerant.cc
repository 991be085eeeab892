// SPDX-License-Identifier: Apache-2.0
#include "common/data/tolerant.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {

void CorruptImages::Add(const absl::Status& reason) {
  const std::string text(reason.message());
  if (known_.insert(text).second) reasons_.push_back(text);
}

absl::Status CorruptImages::Judge(std::optional<int64_t> limit) const {
  const auto count = static_cast<int64_t>(reasons_.size());
  if (count <= limit.value_or(0)) return absl::OkStatus();
  const std::string way_out =
      limit.has_value() ? absl::StrCat(", or leave them out with corrupt_limit=", count, " (it is ", *limit, ")") : "";
  return absl::DataLossError(absl::StrCat(count, count == 1 ? " image" : " images",
                                          " cannot be decoded; repair or remove them", way_out, ":\n  ",
                                          absl::StrJoin(reasons_, "\n  ")));
}

}  // namespace vitrine
