// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_
#define VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

namespace vitrine::engine {

// Zero-initialized floats, aligned to a cache line. Movable.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t count) : data_(new (std::align_val_t{kLine}) float[static_cast<size_t>(count)]) {
    std::fill_n(data_.get(), count, 0.0f);
    count_ = count;
  }

  int64_t count() const { return count_; }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }

 private:
  static constexpr size_t kLine = 64;
  struct Delete {
    void operator()(float* data) const { ::operator delete[](data, std::align_val_t{kLine}); }
  };
  std::unique_ptr<float[], Delete> data_;
  int64_t count_ = 0;
};

// Returns the distance in bytes between rows of length `bytes` in a matrix that a product reads. If the distance were a
// multiple of 1 KiB, the rows of a register tile would map to at most four sets of an L1 cache with 4 KiB ways and
// evict each other. A multiple of 1 KiB is therefore increased by one cache line.
inline int64_t RowStride(int64_t bytes) {
  return bytes % 1024 == 0 ? bytes + 64 : bytes;
}

// Returns RowStride of a row of `columns` floats, in floats.
inline int64_t FloatStride(int64_t columns) {
  return RowStride(columns * int64_t{sizeof(float)}) / int64_t{sizeof(float)};
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_
