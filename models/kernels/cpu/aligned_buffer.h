// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_ALIGNED_BUFFER_H_
#define VITRINE_MODELS_KERNELS_CPU_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace vitrine::cpu {

// A cache line, and the widest vector register.
inline constexpr int64_t kAlignment = 64;

// Zeroed memory aligned to kAlignment. Movable; the address stays.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}))) {
    std::memset(data_.get(), 0, bytes);
  }

  std::byte* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{kAlignment}); }
  };
  int64_t bytes_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_ALIGNED_BUFFER_H_
