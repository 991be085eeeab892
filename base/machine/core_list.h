// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_MACHINE_CORE_LIST_H_
#define VITRINE_BASE_MACHINE_CORE_LIST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The kernel's way to write cores, "0-3,8,10-11", as numbers in rising order. Nothing for anything else; an empty list
// is no cores.
std::optional<std::vector<int>> ParseCoreList(std::string_view text);

// And back; requires rising order.
std::string CoreListText(const std::vector<int>& cores);

}  // namespace vitrine

#endif  // VITRINE_BASE_MACHINE_CORE_LIST_H_
