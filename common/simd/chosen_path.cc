// SPDX-License-Identifier: Apache-2.0
#include "common/simd/chosen_path.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine::cpu {
namespace {

constexpr CpuPath kNamed[] = {CpuPath::kPortable, CpuPath::kNeon,       CpuPath::kAvx2,
                              CpuPath::kAvx512,   CpuPath::kAvx512Bf16, CpuPath::kAmx};

std::string Names(std::span<const CpuPath> paths) {
  return absl::StrJoin(paths, ", ", [](std::string* out, CpuPath path) { absl::StrAppend(out, Name(path)); });
}

}  // namespace

absl::StatusOr<CpuPath> ChoosePath(absl::string_view isa, std::span<const CpuPath> supported) {
  if (isa.empty()) return supported.back();
  const CpuPath* const named = std::find_if(std::begin(kNamed), std::end(kNamed),  //
                                            [&](CpuPath path) { return isa == Name(path); });
  if (named == std::end(kNamed)) {
    return absl::InvalidArgumentError(absl::StrCat(kIsaVariable, " is \"", isa, "\"; it must be one of ", Names(kNamed),
                                                   ", or unset for the best of this CPU"));
  }
  if (std::find(supported.begin(), supported.end(), *named) == supported.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat(kIsaVariable, " is ", isa, ", which this CPU cannot run; it can run ", Names(supported)));
  }
  return *named;
}

absl::StatusOr<CpuPath> ChosenPath() {
  const char* const isa = std::getenv(kIsaVariable);
  return ChoosePath(isa == nullptr ? "" : isa, SupportedPaths());
}

}  // namespace vitrine::cpu
