// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/step_memory.h"

#include <algorithm>
#include <numeric>

namespace vitrine::cuda {
namespace {

constexpr size_t kAlignment = 256;  // alignment of parts of reused memory, in bytes

// Returns the indices of the sizes, the largest first.
std::vector<size_t> LargestFirst(std::span<const size_t> sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  return order;
}

}  // namespace

StepMemory::StepMemory(const engine::LoweredPlan& lowered, const BatchLimits& limits, std::vector<size_t>& sizes)
    : lowered_(lowered), limits_(limits), sizes_(&sizes) {
  HoldSlots();
}

StepMemory::StepMemory(const engine::LoweredPlan& lowered, const BatchLimits& limits,
                       std::span<std::byte* const> places, const BatchMemory& batch, DeviceMatrices& matrices)
    : lowered_(lowered),
      limits_(limits),
      places_(places),
      batch_{batch.counts, batch.images, batch.tiles, lowered.prefix},
      pixels_(batch.pixels),
      matrices_(&matrices) {
  HoldSlots();
  scratch_.begin = places[places.size() - 2];
  tapped_.begin = places[places.size() - 1];
}

void StepMemory::HoldSlots() {
  for (const engine::Slot& slot : lowered_.slots) slots_.push_back(Hold<float>(MostRows(slot.rows) * slot.width));
}

void StepMemory::Finish() {
  if (!measures()) return;
  HoldBytes(scratch_.most);
  HoldBytes(tapped_.most);
}

int64_t StepMemory::MostRows(RowsOf rows) const {
  if (rows == RowsOf::kImages) return limits_.images;
  return limits_.cells + (rows == RowsOf::kTokens ? int64_t{limits_.images} * lowered_.prefix : 0);
}

Matrix StepMemory::At(engine::Operand operand) const {
  const auto index = static_cast<size_t>(operand.buffer);
  const engine::Buffer& buffer = lowered_.buffers[index];
  const bool narrow = index < narrow_.size() && narrow_[index];
  const size_t before = static_cast<size_t>(operand.first) * (narrow ? sizeof(uint16_t) : sizeof(float));
  const size_t slot = measures() ? 0 : reinterpret_cast<size_t>(slots_[static_cast<size_t>(buffer.slot)]);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  auto* const data = reinterpret_cast<float*>(slot + before);
  return {data, buffer.width, static_cast<int>(operand.columns), buffer.rows, narrow};
}

DeviceMatrix StepMemory::Find(const engine::FoldedMatrix& matrix, MatrixLayout layout) {
  if (!measures()) return matrices_->Find(matrix, layout);
  return {.precision = matrix.precision,
          .inputs = static_cast<int>(matrix.inputs),
          .outputs = static_cast<int>(matrix.outputs)};
}

std::byte* StepMemory::HoldBytes(size_t bytes) {
  if (!measures()) return places_[held_++];
  sizes_->push_back(bytes);
  return nullptr;
}

std::byte* StepMemory::Part(Reused& memory, size_t bytes) const {
  std::byte* const place = measures() ? nullptr : memory.begin + memory.used;
  memory.used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  memory.most = std::max(memory.most, memory.used);
  return place;
}

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
