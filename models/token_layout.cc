// SPDX-License-Identifier: Apache-2.0
#include "models/token_layout.h"

namespace vitrine {

std::shared_ptr<const TokenLayout> TokenLayout::Make(std::vector<Grid> grids, int prefix_tokens) {
  return std::shared_ptr<const TokenLayout>(new TokenLayout(std::move(grids), prefix_tokens));
}

TokenLayout::TokenLayout(std::vector<Grid> grids, int prefix_tokens)
    : grids_(std::move(grids)), prefix_tokens_(prefix_tokens) {
  offsets_.reserve(grids_.size() + 1);
  offsets_.push_back(0);
  for (size_t i = 0; i < grids_.size(); ++i) {
    const int64_t tokens = prefix_tokens_ + grids_[i].cells();
    if (runs_.empty() || !(runs_.back().grid == grids_[i])) {
      runs_.push_back({.first_image = static_cast<int>(i),
                       .images = 0,
                       .grid = grids_[i],
                       .first_token = offsets_.back(),
                       .tokens_per_image = tokens});
    }
    ++runs_.back().images;
    offsets_.push_back(offsets_.back() + tokens);
  }
}

}  // namespace vitrine
