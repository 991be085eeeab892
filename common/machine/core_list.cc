// SPDX-License-Identifier: Apache-2.0
#include "common/machine/core_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vitrine {
namespace {

constexpr int kMostListed = 1 << 16;  // maximum number of listed cores; the kernel itself allows at most 8192

}  // namespace

std::optional<std::vector<int>> ParseCoreList(std::string_view text) {
  std::set<int> cores;
  const std::string stripped(absl::StripAsciiWhitespace(std::string(text)));
  if (stripped.empty()) return std::vector<int>();
  const std::vector<std::string> parts = absl::StrSplit(stripped, ',');
  for (const std::string& part : parts) {
    const std::pair<std::string, std::string> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) return std::nullopt;
    if (ends.second.empty() && part.find('-') == std::string::npos) {
      last = first;
    } else if (!absl::SimpleAtoi(ends.second, &last)) {
      return std::nullopt;
    }
    if (first < 0 || last < first || last >= kMostListed) return std::nullopt;
    for (int core = first; core <= last; ++core) cores.insert(core);
  }
  return std::vector<int>(cores.begin(), cores.end());
}

std::string CoreListText(const std::vector<int>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t end = i;
    while (end + 1 < cores.size() && cores[end + 1] == cores[end] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", cores[i]);
    if (end > i) absl::StrAppend(&text, "-", cores[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace vitrine
