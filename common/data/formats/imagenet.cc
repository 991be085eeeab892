// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/imagenet.h"

#include <algorithm>

#include "absl/strings/str_split.h"

namespace vitrine {
namespace {

constexpr char kWnids[] =
#include "imagenet_1k_wnids.inc"
    ;
constexpr char kNames[] =
#include "imagenet_1k_names.inc"
    ;

}  // namespace

const std::vector<std::string>& ImageNetNames() {
  static const auto& names = *new std::vector<std::string>(absl::StrSplit(kNames, '\n', absl::SkipEmpty()));
  return names;
}

std::optional<int> ImageNetClass(std::string_view wnid) {
  static const auto& wnids = *new std::vector<std::string>(absl::StrSplit(kWnids, '\n', absl::SkipEmpty()));
  const auto found = std::lower_bound(wnids.begin(), wnids.end(), wnid);
  if (found == wnids.end() || *found != wnid) return std::nullopt;
  return static_cast<int>(found - wnids.begin());
}

}  // namespace vitrine
