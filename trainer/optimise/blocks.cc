// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/blocks.h"

#include <algorithm>
#include <string_view>

namespace vitrine {

std::string BlockOf(const std::string& parameter) {
  constexpr std::string_view kBlocks = "blocks.";
  const size_t blocks = parameter.find(kBlocks);
  if (blocks == std::string::npos) return "";
  return parameter.substr(0, parameter.find('.', blocks + kBlocks.size()));
}

std::vector<std::string> BlocksOf(const std::vector<NamedTensor>& parameters) {
  std::vector<std::string> blocks;
  for (const NamedTensor& parameter : parameters) {
    const std::string block = BlockOf(parameter.name);
    if (!block.empty() && std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
  }
  return blocks;
}

}  // namespace vitrine
