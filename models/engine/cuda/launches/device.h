// SPDX-License-Identifier: Apache-2.0
// The device as launches see it. The driver implements it; in tests the emulator does.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_DEVICE_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"

namespace vitrine::cuda {

// A kernel and its arguments. The device chooses the number of blocks: kernels stride over the rows of the batch.
struct Launch {
  std::string step;    // operator of the program: "blocks.0.attention.qkv"
  std::string kernel;  // "vitrine_linear_fp32"
  int threads = 128;
  size_t shared_bytes = 0;
  std::vector<std::byte> arguments;
};

template <class Arguments>
Launch MakeLaunch(std::string step, std::string kernel, const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  Launch launch = {.step = std::move(step), .kernel = std::move(kernel), .arguments = {}};
  launch.arguments.resize(sizeof(arguments));
  std::memcpy(launch.arguments.data(), &arguments, sizeof(arguments));
  return launch;
}

// Memory and kernels of a device, in the order of the calls. Used by one thread at a time.
class Device {
 public:
  virtual ~Device() = default;
  // Returns null if there is not enough memory. Aligned to at least 16 bytes.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* buffer) = 0;
  virtual absl::Status Upload(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Download(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Run(const Launch& launch) = 0;
};

// Buffers of a device, freed together. The first error is kept, and status() returns it.
class Buffers {
 public:
  explicit Buffers(Device& device) : device_(device) {}
  ~Buffers() {
    for (void* const buffer : buffers_) device_.Free(buffer);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  const absl::Status& status() const { return status_; }

  template <class T>
  T* Allocate(size_t count) {
    if (count == 0) return nullptr;
    void* const buffer = device_.Allocate(count * sizeof(T));
    if (buffer == nullptr) {
      status_.Update(absl::ResourceExhaustedError("the device has not enough memory for the model"));
      return nullptr;
    }
    buffers_.push_back(buffer);
    return static_cast<T*>(buffer);
  }
  // Returns a copy of `values`, null if there are none.
  template <class T>
  const T* Copy(std::span<const T> values) {
    T* const buffer = Allocate<T>(values.size());
    if (buffer != nullptr) status_.Update(device_.Upload(buffer, values.data(), values.size_bytes()));
    return buffer;
  }
  template <class T>
  const T* Copy(const std::vector<T>& values) {
    return Copy(std::span<const T>(values));
  }

 private:
  Device& device_;
  std::vector<void*> buffers_;
  absl::Status status_;
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_DEVICE_H_
