// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_
#define VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

namespace vitrine::engine {

// Zero-initialized floats, aligned to a cache line. Movable. Arrays of 4 MiB or more (weights of wide layers, memory of
// a large group of images) use huge pages if the Linux kernel has them. With 4 KiB pages, a read of such an array often
// waits for a lookup in page tables.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t count) : data_(Allocate(static_cast<size_t>(count))) {
    std::fill_n(data_.get(), count, 0.0f);
    count_ = count;
  }

  int64_t count() const { return count_; }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kHugePage = size_t{2} << 20;

  struct Delete {
    Delete() : Delete(std::align_val_t{kLine}) {}
    explicit Delete(std::align_val_t at) : alignment(at) {}
    void operator()(float* data) const { ::operator delete[](data, alignment); }
    std::align_val_t alignment;
  };
  using Owner = std::unique_ptr<float[], Delete>;

  static Owner Allocate(size_t count) {
    const size_t bytes = count * sizeof(float);
    const bool large = bytes >= 2 * kHugePage;
    const std::align_val_t alignment{large ? kHugePage : kLine};
    Owner data(new (alignment) float[count], Delete(alignment));
    // Ignores errors: on a Linux kernel without huge pages madvise fails, and the array then uses normal pages.
    if (large) madvise(data.get(), bytes, MADV_HUGEPAGE);
    return data;
  }

  Owner data_;
  int64_t count_ = 0;
};

// Returns the distance in bytes between rows of length `bytes` in a matrix that a product reads. A multiple of 1 KiB is
// increased by one cache line. Otherwise the rows of a register tile would share at most four sets of an L1 cache with
// 4 KiB per way, and would evict each other.
inline int64_t RowStride(int64_t bytes) {
  return bytes % 1024 == 0 ? bytes + 64 : bytes;
}

// Returns RowStride of a row of `columns` floats, in floats.
inline int64_t FloatStride(int64_t columns) {
  return RowStride(columns * int64_t{sizeof(float)}) / int64_t{sizeof(float)};
}

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_
