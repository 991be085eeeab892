// SPDX-License-Identifier: Apache-2.0
// Interface of a device that runs launches. driver::Slot implements the interface; in tests, emulated::EmulatedDevice
// implements it.
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_DEVICE_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine::cuda {

// A kernel and its arguments. The device chooses the number of blocks; the blocks of a kernel share the rows of the
// batch.
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

// Launches prepared for repeated execution. The device must outlive them.
class Recorded {
 public:
  virtual ~Recorded() = default;
  virtual absl::Status Run() = 0;
};

// Memory and kernels of a device; calls take effect in the order in which they are made. Only one thread at a time may
// use the object. Several Device objects may belong to the same GPU. If one of them writes memory and another one reads
// it, the write must be complete before the read. A write is complete when a later Download of the writing object has
// returned, because a Download waits for all earlier calls.
class Device {
 public:
  virtual ~Device() = default;
  // Returns memory aligned to at least 16 bytes; null if there is not enough memory or the device is lost.
  virtual void* Allocate(size_t bytes) = 0;
  // Returns why the last Allocate returned null.
  virtual absl::Status allocation_error() const {
    return absl::ResourceExhaustedError("the device has not enough memory for the model");
  }
  virtual void Free(void* buffer) = 0;
  // The caller may change `from` after Upload has returned.
  virtual absl::Status Upload(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Download(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Run(const Launch& launch) = 0;
  // Prepares launches, which must outlive the result. The default implementation runs them one by one.
  virtual absl::StatusOr<std::unique_ptr<Recorded>> Record(std::span<const Launch> launches);
};

class OneByOne : public Recorded {
 public:
  OneByOne(Device& device, std::span<const Launch> launches) : device_(device), launches_(launches) {}
  absl::Status Run() override {
    for (const Launch& launch : launches_) {
      if (absl::Status status = device_.Run(launch); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Device& device_;
  const std::span<const Launch> launches_;
};
inline absl::StatusOr<std::unique_ptr<Recorded>> Device::Record(std::span<const Launch> launches) {
  return std::make_unique<OneByOne>(*this, launches);
}

// Buffers of a device, freed together. status() returns the first error.
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
      status_.Update(device_.allocation_error());
      return nullptr;
    }
    buffers_.push_back(buffer);
    return static_cast<T*>(buffer);
  }
  // Returns a device copy of `values`; null if there are none.
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
