// SPDX-License-Identifier: Apache-2.0
// A device that runs kernels on one CPU thread, for tests. Each thread of a block is a fiber. Blocks run one after the
// other, in random order. The warps of a block also run in random order, each until its lanes wait at a barrier of the
// block. The lanes of a warp take turns in random order. Code that lacks a barrier may therefore give different results
// in different runs, and Memory reports the race.
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_MACHINE_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_MACHINE_H_

#include <array>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "models/engine/cuda/emulated/counters.h"
#include "models/engine/cuda/emulated/fault.h"
#include "models/engine/cuda/emulated/memory.h"
#include "models/engine/cuda/emulated/products.h"

namespace vitrine::cuda::emulated {

struct MachineOptions {
  uint64_t seed = 1;  // seed of the schedule and of the rounding model kRandom
  int sms = 3;
  RoundingModel rounding = RoundingModel::kSm90;
  bool counts = false;  // true: counts bank conflicts and sectors; slower
};

struct Shape {
  std::string kernel;
  int blocks = 1;
  int threads = 32;  // a multiple of 32, at most 1024
  size_t shared_bytes = 0;
};

struct StackRange {
  const void* bottom = nullptr;
  size_t bytes = 0;
};

// Runs kernels on the CPU and checks their memory accesses and barriers. Only one CPU thread may use a machine.
// Denormals are zero while a kernel runs, as on the device.
class Machine {
 public:
  explicit Machine(const MachineOptions& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const MachineOptions& options() const { return options_; }
  Memory& memory() { return memory_; }
  const Counters& counters() const { return counters_; }

  // Runs `body` in every thread. Returns the first fault, which ends the launch. If an access that bypasses Global and
  // Shared hits a guard page, the process writes the block and thread to stderr and ends.
  std::optional<Fault> Launch(const Shape& shape, const std::function<void()>& body);

  // --- functions for the running thread; kernels call them through emulated/device.h

  static Machine& Current() { return *current_; }
  static const Machine* CurrentOrNull() { return current_; }
  int thread() const { return running_->index; }
  int threads() const { return shape_.threads; }
  int block() const { return block_; }
  int blocks() const { return shape_.blocks; }
  std::byte* shared() const { return shared_; }

  void Read(const void* address, size_t bytes, bool is_shared, Source at);
  void Write(const void* address, size_t bytes, bool is_shared, Source at);
  void SyncBlock(Source at);
  void SyncWarp(Source at);
  using Words = std::array<uint32_t, 6>;
  // Shares `own` with all lanes of the warp. Waits until all 32 lanes have called Exchange, then returns their words.
  std::span<const Words, 32> Exchange(const Words& own, Source at);
  void CopyAsync(void* to, const void* from, bool valid, Source at);
  void CommitCopies();
  void WaitCopies(size_t left, Source at);
  void RequireAligned(const void* address, size_t alignment, Source at);
  void CountFma() { counters_.AddFma(); }
  std::mt19937_64& random() { return random_; }

 private:
  enum class State { kReady, kAtBlock, kAtWarp, kDone };
  struct Copy {
    void* to;
    const void* from;
    bool valid;
  };
  struct ThreadState {
    int index = 0;
    State state = State::kDone;
    Source at;  // location of the barrier at which the thread waits
    unsigned exchanges = 0;
    std::vector<Copy> open;                   // copies that no group contains yet
    std::deque<std::vector<Copy>> in_flight;  // groups of copies that are not complete
    boost::context::fiber fiber;
    StackRange stack;
  };
  struct WarpState {
    uint64_t interval = 0;
    bool ends_interval = false;  // true: the barrier at which the lanes wait is a SyncWarp
    // two buffers, used in turns: a lane that is ahead of the others must not overwrite words that they still read
    std::array<std::array<Words, 32>, 2> exchanged;
  };

  void Begin(ThreadState& thread);
  void RunBlock();
  bool RunWarp(int warp);
  void Resume(ThreadState& thread);
  void ReturnToScheduler();
  void Yield(State state, Source at);
  // Marks the lanes of a warp, or the threads of a block, as ready if all of them wait at the same barrier. Otherwise
  // reports a fault and returns false.
  bool Release(std::span<ThreadState> threads, State state);
  [[noreturn]] void Throw(FaultKind kind, const void* address, std::string detail, Source at);
  void Report(FaultKind kind, const ThreadState& thread, const void* address, std::string detail, Source at);
  Running RunningNow() const;

  static thread_local Machine* current_;

  const MachineOptions options_;
  Memory memory_;
  Counters counters_;
  std::mt19937_64 random_;
  std::vector<ThreadState> threads_;
  std::vector<WarpState> warps_;
  boost::context::fiber scheduler_;  // fiber of the scheduler, to which threads return
  StackRange scheduler_stack_;

  Shape shape_;
  const std::function<void()>* body_ = nullptr;
  int block_ = 0;
  std::byte* shared_ = nullptr;
  alignas(16) std::array<std::byte, 16> nowhere_ = {};
  ThreadState* running_ = nullptr;
  std::optional<Fault> fault_;
  uint64_t interval_ = 0, launch_first_ = 0, block_first_ = 0;
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_MACHINE_H_
