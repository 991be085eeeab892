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

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_ALIGNED_FLOATS_H_
