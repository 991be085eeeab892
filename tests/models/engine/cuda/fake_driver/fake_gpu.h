// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_FAKE_GPU_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_FAKE_GPU_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "models/engine/cuda/driver/functions.h"
#include "models/engine/cuda/emulated/kernels.h"
#include "models/engine/cuda/emulated/machine.h"
#include "tests/models/engine/cuda/fake_driver/control.h"

// Objects to which the driver's handles point.
namespace vitrine::cuda::driver {

struct ContextOfDriver {};
struct ModuleOfDriver {
  std::map<std::string, std::unique_ptr<FunctionOfDriver>> functions;
};
struct FunctionOfDriver {
  const emulated::NamedKernel* kernel = nullptr;
  size_t most_shared_bytes = size_t{48} << 10;
};
struct EventOfDriver {
  bool timed = false;
  uint64_t recorded = 0, done = 0;
  std::chrono::steady_clock::time_point at = {};  // time of the last completed record
};

}  // namespace vitrine::cuda::driver

namespace vitrine::testing {

using cuda::driver::Result;

// One operation in a stream.
struct FakeWork {
  enum class Kind { kUpload, kDownload, kKernel, kEvent, kGraphEnd };
  Kind kind = Kind::kEvent;
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  cuda::emulated::Shape shape;
  const cuda::emulated::NamedKernel* kernel = nullptr;
  cuda::driver::FunctionHandle function = nullptr;
  std::vector<std::byte> arguments;
  cuda::driver::EventHandle event = nullptr;
  uint64_t record = 0;  // value of EventOfDriver::recorded
  cuda::driver::GraphExecHandle exec = nullptr;
};

}  // namespace vitrine::testing

namespace vitrine::cuda::driver {

struct GraphOfDriver {
  std::vector<vitrine::testing::FakeWork> work;
};
struct GraphExecOfDriver {
  std::vector<vitrine::testing::FakeWork> work;
  int in_flight = 0;
  StreamHandle stream = nullptr;  // stream of the last launch
};
struct StreamOfDriver {
  std::deque<vitrine::testing::FakeWork> queue;
  bool runs = false, hangs = false;
  bool captures = false, invalid = false;
  int mode = 0;
  std::thread::id captured_by;
  std::vector<vitrine::testing::FakeWork> captured;
};

}  // namespace vitrine::cuda::driver

namespace vitrine::testing {

// The state of the fake driver, which the exported functions use. A worker thread executes the operations of each
// stream in order, and chooses the next stream at random. A copy reads memory only when it is executed, so a caller
// that changes this memory too early gets wrong results.
class FakeGpu : public FakeControl {
 public:
  // Returns the only instance of the process, which is never destroyed.
  static FakeGpu& Get();

  void Reset(const FakeSettings& settings) override;
  void Fail(int64_t nth, Result error, bool sticky) override;
  void FailNext(const std::string& name, Result error, bool sticky) override;
  void Pause(bool pauses) override;
  void Hang(int64_t nth) override;
  int64_t Calls(const std::string& name) const override;
  FakeUse use() const override;
  std::string faults() const override;

  // --- The exported functions call the functions below while they hold `mutex`.

  // Counts a call and returns the error that the call must return, or kSuccess. Sets `injected` if the error comes from
  // Fail or FailNext. A call with an injected error must still release the object that it was called to release.
  Result Begin(const char* name, bool needs_context, bool& injected);
  // Adds an invalid call to faults() and returns `result`.
  Result Forbid(Result result, const std::string& why);
  // Returns an error if a stream capture forbids this call in the calling thread.
  Result RefuseInCapture(const char* name);
  // Keeps the memory of a released object, so that no later handle has the same address.
  template <class Object>
  void Retire(Object* object) {
    retired_.push_back(std::shared_ptr<Object>(object));
  }
  // Appends work to a stream, or to its capture.
  void Add(cuda::driver::StreamHandle stream, FakeWork work);
  // Waits until all streams are empty, like a driver call that synchronizes.
  void Synchronize(std::unique_lock<std::mutex>& lock);
  bool IsPinned(const void* memory, size_t bytes) const;
  bool IsOnDevice(cuda::driver::DevicePointer memory, size_t bytes) const;
  // Waits until no kernel runs, because a running kernel uses the emulator exclusively. Returns 0 if memory is
  // exhausted.
  cuda::driver::DevicePointer AllocateDevice(std::unique_lock<std::mutex>& lock, size_t bytes);
  size_t free_bytes() const { return settings.memory_bytes - device_total_; }
  void FreeDevice(std::unique_lock<std::mutex>& lock, cuda::driver::DevicePointer memory);

  mutable std::mutex mutex;
  FakeSettings settings;
  bool initialized = false;
  int context_count = 0;
  cuda::driver::ContextOfDriver context;
  std::set<cuda::driver::ModuleHandle> modules;
  std::set<cuda::driver::StreamHandle> streams;
  std::set<cuda::driver::EventHandle> events;
  std::set<cuda::driver::GraphHandle> graphs;
  std::set<cuda::driver::GraphExecHandle> execs;
  std::map<std::byte*, size_t> pinned;
  size_t pinned_total = 0;

 private:
  cuda::driver::DevicePointer AllocateOnMachine(std::unique_lock<std::mutex>& lock, size_t bytes);
  FakeGpu();
  // Discards all objects.
  void Forget();
  void LockMachine();
  void Work();
  void Execute(std::unique_lock<std::mutex>& lock, const FakeWork& work);

  std::condition_variable changed_;
  std::mutex machine_mutex_;               // a thread that holds machine_mutex_ does not wait for `mutex`
  std::atomic<int> wait_for_machine_ = 0;  // number of callers that must get the machine before the next kernel
  std::unique_ptr<cuda::emulated::Machine> machine_;
  std::map<cuda::driver::DevicePointer, size_t> device_;
  size_t device_total_ = 0;
  std::map<cuda::driver::DevicePointer, int> blocks_;  // number of allocations in each block
  cuda::driver::DevicePointer open_block_ = 0;         // the block that new small allocations use
  size_t block_used_ = 0;
  std::mt19937_64 random_;
  std::map<std::string, int64_t> calls_;
  int64_t all_calls_ = 0, kernels_ = 0;
  int64_t checked_calls_ = 0;  // number of calls without those in kUnchecked
  int64_t fail_at_ = 0, fail_checked_at_ = 0, hang_at_ = 0;
  std::string fail_next_;  // name of the function that FailNext chose
  Result failure_ = cuda::driver::kSuccess;
  bool failure_is_sticky_ = false;
  Result lost_ = cuda::driver::kSuccess;
  bool paused_ = false;
  std::string faults_;
  std::vector<std::shared_ptr<void>> retired_;
  std::thread worker_;
};

// Current context of the calling thread.
extern thread_local cuda::driver::ContextHandle current_context;

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_FAKE_GPU_H_
