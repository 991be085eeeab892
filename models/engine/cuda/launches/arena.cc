// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/arena.h"

#include <algorithm>
#include <numeric>

namespace vitrine::cuda {
namespace {

// Returns the indices of the sizes, the largest first.
std::vector<size_t> LargestFirst(std::span<const size_t> sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  return order;
}

}  // namespace

// For each n, the n-th largest buffers of all plans share the same memory.
void Arena::Reserve(std::span<const size_t> sizes) {
  sizes_.resize(std::max(sizes_.size(), sizes.size()));
  const std::vector<size_t> order = LargestFirst(sizes);
  for (size_t i = 0; i < order.size(); ++i) sizes_[i] = std::max(sizes_[i], sizes[order[i]]);
}

absl::Status Arena::Allocate(Buffers& buffers) {
  for (const size_t size : sizes_) places_.push_back(buffers.Allocate<std::byte>(size));
  return buffers.status();
}

std::vector<std::byte*> Arena::PlacesOf(std::span<const size_t> sizes) const {
  std::vector<std::byte*> places(sizes.size());
  const std::vector<size_t> order = LargestFirst(sizes);
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = places_[i];
  return places;
}

}  // namespace vitrine::cuda
