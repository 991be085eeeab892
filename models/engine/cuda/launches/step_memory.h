// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_STEP_MEMORY_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_STEP_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "models/engine/cuda/kernels/arguments.h"
#include "models/engine/cuda/launches/batch_rows.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/cuda/launches/matrices.h"
#include "models/engine/plan/plan.h"

namespace vitrine::cuda {

// Memory that is uploaded with a batch.
struct BatchMemory {
  int* counts = nullptr;        // numbers of images, of cells and of tiles
  ImageRows* images = nullptr;  // one entry more than BatchLimits::images
  GridTile* tiles = nullptr;    // at most one per cell
  float* pixels = nullptr;
};

// Provides addresses for the launches of a plan. The launches are made twice: first without addresses, to measure the
// memory that they need at the same time; then with an address for each measured size.
class StepMemory {
 public:
  // Measures the memory: appends the size in bytes of each part to `sizes`, which is complete after Finish.
  StepMemory(const engine::LoweredPlan& lowered, const BatchLimits& limits, std::vector<size_t>& sizes);
  StepMemory(const engine::LoweredPlan& lowered, const BatchLimits& limits, std::span<std::byte* const> places,
             const BatchMemory& batch, DeviceMatrices& matrices);

  // Sets for each buffer whether it holds bf16. Without this call, no buffer holds bf16.
  void SetNarrow(std::vector<bool> narrow) { narrow_ = std::move(narrow); }
  // Begins the next step, which reuses the scratch memory.
  void Begin() { scratch_.used = 0; }
  // Adds the sizes of the scratch memory and of the tap memory. Must be called after the last step.
  void Finish();

  const engine::LoweredPlan& lowered() const { return lowered_; }
  bool measures() const { return matrices_ == nullptr; }
  const BatchLimits& limits() const { return limits_; }
  const Batch& batch() const { return batch_; }
  const float* pixels() const { return pixels_; }

  int64_t MostRows(RowsOf rows) const;
  // Returns the address of an operand. While sizes are measured, addresses start at 0, so that they have the same
  // alignment as the final addresses.
  Matrix At(engine::Operand operand) const;
  Matrix At(const std::optional<engine::Operand>& operand) const { return operand ? At(*operand) : Matrix(); }

  // Returns memory that no other part of the plan uses.
  template <class T>
  T* Hold(int64_t count) {
    return reinterpret_cast<T*>(HoldBytes(static_cast<size_t>(count) * sizeof(T)));
  }
  // Returns memory that is valid until the next Begin.
  template <class T>
  T* Scratch(int64_t count) {
    return reinterpret_cast<T*>(Part(scratch_, static_cast<size_t>(count) * sizeof(T)));
  }
  // Returns memory for a TakeTap function (taps.h). The next TakeTap function overwrites it.
  template <class T>
  T* TapMemory(int64_t count) {
    tapped_.used = 0;
    return reinterpret_cast<T*>(Part(tapped_, static_cast<size_t>(count) * sizeof(T)));
  }
  Matrix ScratchMatrix(RowsOf rows, int64_t columns) {
    return {Scratch<float>(MostRows(rows) * columns), columns, static_cast<int>(columns), rows};
  }

  // Returns the device copy of `values`; all plans of the program share it.
  template <class T>
  const T* Copy(const std::vector<T>& values) {
    return measures() ? nullptr : matrices_->Copy(values);
  }
  DeviceMatrix Find(const engine::FoldedMatrix& matrix, MatrixLayout layout = MatrixLayout::kByInputs);

 private:
  // Memory that is reused from its first byte on: each step reuses the scratch memory, and each TakeTap function
  // (taps.h) reuses the tap memory.
  struct Reused {
    std::byte* begin = nullptr;
    size_t used = 0, most = 0;
  };

  std::byte* HoldBytes(size_t bytes);
  std::byte* Part(Reused& memory, size_t bytes) const;
  void HoldSlots();

  const engine::LoweredPlan& lowered_;
  const BatchLimits& limits_;
  std::vector<size_t>* const sizes_ = nullptr;
  const std::span<std::byte* const> places_;
  size_t held_ = 0;  // number of `places_` in use
  Batch batch_ = {};
  const float* pixels_ = nullptr;
  DeviceMatrices* const matrices_ = nullptr;
  std::vector<float*> slots_;
  std::vector<bool> narrow_;
  Reused scratch_, tapped_;
};

// Memory of the plans of one engine. The plans never run at the same time, so they share the memory.
class Arena {
 public:
  // Adds the sizes in bytes of the buffers that one plan needs at the same time. Must be called before Allocate.
  void Reserve(std::span<const size_t> sizes);
  // Allocates the memory. RESOURCE_EXHAUSTED if the device does not have enough.
  absl::Status Allocate(Buffers& buffers);
  // Returns one address per size of a plan, in the order of `sizes`.
  std::vector<std::byte*> PlacesOf(std::span<const size_t> sizes) const;

 private:
  std::vector<size_t> sizes_;  // largest first
  std::vector<std::byte*> places_;
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_STEP_MEMORY_H_
