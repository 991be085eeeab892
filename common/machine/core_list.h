// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_MACHINE_CORE_LIST_H_
#define VITRINE_COMMON_MACHINE_CORE_LIST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Parses the kernel's list of cores, "0-3,8,10-11", to ascending numbers. Returns nullopt if it is malformed. Empty
// text gives an empty list.
std::optional<std::vector<int>> ParseCoreList(std::string_view text);

// Formats cores like the kernel, "0-3,8,10-11"; requires ascending order.
std::string CoreListText(const std::vector<int>& cores);

}  // namespace vitrine

#endif  // VITRINE_COMMON_MACHINE_CORE_LIST_H_
