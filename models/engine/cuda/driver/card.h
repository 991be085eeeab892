// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_DRIVER_CARD_H_
#define VITRINE_MODELS_ENGINE_CUDA_DRIVER_CARD_H_

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "models/engine/cuda/driver/activity.h"
#include "models/engine/cuda/driver/driver.h"

namespace vitrine::cuda::driver {

// A kernel of the loaded module.
struct Kernel {
  FunctionHandle function = nullptr;
  int blocks = 0;  // number of blocks to launch: as many as the device runs at once
};

// A CUDA device: its primary context, and the engine's kernels in it. Thread-safe.
class Card {
 public:
  using Clock = std::chrono::steady_clock;

  // Loads `image`, the compiled kernels, into the primary context of a device. FAILED_PRECONDITION names what the
  // device lacks and the remedy.
  static absl::StatusOr<std::unique_ptr<Card>> Open(const Driver& driver, int index, const void* image);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const std::string& name() const { return name_; }    // "cuda:0"
  const std::string& model() const { return model_; }  // "NVIDIA H100"
  int capability() const { return capability_; }       // 90 for 9.0
  int multiprocessors() const { return multiprocessors_; }
  const Functions& functions() const { return driver_.functions(); }

  // Makes the device's context current for the calling thread. Each thread must call this before other driver calls.
  absl::Status Enter() const;
  // Returns OK for kSuccess, else an error with the device, the call and the driver's text. If the error is sticky
  // (IsSticky), marks the device as lost; then this call and every later Enter return UNAVAILABLE.
  absl::Status Check(Result result, std::string_view call) const;

  // Returns a kernel for launches with `threads` threads per block and `shared_bytes` of dynamic shared memory. The
  // first call with this name loads the kernel's code.
  absl::StatusOr<Kernel> Find(std::string_view name, int threads, size_t shared_bytes);

  // Memory of the device. Memory that other processes use does not count as free.
  struct Memory {
    size_t free = 0, total = 0;
  };
  absl::StatusOr<Memory> ReadMemory() const;
  Activity& activity() { return activity_; }

  // Marks the device as lost: every later Enter fails until the process ends. `why` is kept for messages.
  void Lose(std::string why) const;
  bool lost() const { return lost_.load(std::memory_order_acquire); }

  // Notes that work of a slot has ended, which shows that the device does not hang.
  void NoteEnd() { last_end_.store(Clock::now(), std::memory_order_relaxed); }
  // Returns the time of the last NoteEnd.
  Clock::time_point last_end() const { return last_end_.load(std::memory_order_relaxed); }

 private:
  Card(const Driver& driver, int device, std::string name) : driver_(driver), device_(device), name_(std::move(name)) {}

  absl::Status Load(const void* image);
  // Returns a function whose launches may use `shared_bytes` of shared memory. Never lowers the function's limit,
  // because graphs with larger launches may exist, or another thread may be about to make such a graph.
  absl::StatusOr<FunctionHandle> FindFunction(std::string_view name, size_t shared_bytes);

  const Driver driver_;
  const int device_;
  const std::string name_;
  std::string model_;
  int capability_ = 0, multiprocessors_ = 0;
  ContextHandle context_ = nullptr;
  ModuleHandle module_ = nullptr;
  mutable std::atomic<bool> lost_ = false;
  std::atomic<Clock::time_point> last_end_ = Clock::time_point();
  Activity activity_;

  mutable Mutex mutex_;
  mutable std::string why_lost_ ABSL_GUARDED_BY(mutex_);
  // A function and the maximum dynamic shared memory of its launches.
  struct Function {
    FunctionHandle handle = nullptr;
    size_t shared_bytes = size_t{48} << 10;
  };
  Mutex functions_mutex_;
  std::map<std::string, Function, std::less<>> functions_ ABSL_GUARDED_BY(functions_mutex_);
};

}  // namespace vitrine::cuda::driver

#endif  // VITRINE_MODELS_ENGINE_CUDA_DRIVER_CARD_H_
