// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/machine.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/simd/float_mode.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define VITRINE_WITH_ASAN
#endif
#endif

namespace vitrine::cuda::emulated {
namespace {

#ifdef VITRINE_WITH_ASAN
constexpr size_t kStackBytes = size_t{512} << 10;  // AddressSanitizer enlarges each variable on the stack
#else
constexpr size_t kStackBytes = size_t{64} << 10;
#endif
constexpr size_t kCopyBytes = 16;
constexpr int kMostThreads = 1024;

// Exception that unwinds a kernel to the start of its fiber.
struct Stopped {};

// Stack of a fiber. AddressSanitizer must not keep its marks of variables, because other memory may reuse the address.
class FiberStack : public boost::context::protected_fixedsize_stack {
 public:
  FiberStack() : boost::context::protected_fixedsize_stack(kStackBytes) {}
  void deallocate(boost::context::stack_context& stack) noexcept {
#ifdef VITRINE_WITH_ASAN
    ASAN_UNPOISON_MEMORY_REGION(static_cast<std::byte*>(stack.sp) - kStackBytes, kStackBytes);
#endif
    boost::context::protected_fixedsize_stack::deallocate(stack);
  }
};

// Tell AddressSanitizer that the CPU thread changes stacks: LeaveStack before the change, EnterStack after it. When a
// fiber runs again, it passes the result of LeaveStack to EnterStack. EnterStack returns the stack that was left. With
// `ends`, the fiber does not run again, and AddressSanitizer frees what it holds for the fiber's stack.
void* LeaveStack([[maybe_unused]] const StackRange& to, [[maybe_unused]] bool ends = false) {
  void* state = nullptr;
#ifdef VITRINE_WITH_ASAN
  __sanitizer_start_switch_fiber(ends ? nullptr : &state, to.bottom, to.bytes);
#endif
  return state;
}
StackRange EnterStack([[maybe_unused]] void* state) {
  StackRange from;
#ifdef VITRINE_WITH_ASAN
  __sanitizer_finish_switch_fiber(state, &from.bottom, &from.bytes);
#endif
  return from;
}

bool SamePlace(const Source& a, const Source& b) {
  return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

// Reports the thread that accessed a guard page. Ends the process, because the handler cannot return to the emulated
// kernel.
void OnGuardPage(int /*signal*/, siginfo_t* info, void* /*context*/) {
  char text[256];
  const Machine* const machine = Machine::CurrentOrNull();
  const int length = machine == nullptr
                         ? std::snprintf(text, sizeof(text), "segmentation fault outside of a kernel\n")
                         : std::snprintf(text, sizeof(text), "guard page: block %d, thread %d, address %p\n",
                                         machine->block(), machine->thread(), info->si_addr);
  static_cast<void>(!write(STDERR_FILENO, text, static_cast<size_t>(length)));
  _exit(1);
}

// While the object exists, a handler for guard pages is installed. The handler has its own stack, because a fiber's
// stack may have overflowed.
class GuardPages {
 public:
  GuardPages() {
    const stack_t stack = {.ss_sp = stack_, .ss_flags = 0, .ss_size = sizeof(stack_)};
    sigaltstack(&stack, &stack_before_);
    struct sigaction action = {};
    action.sa_sigaction = OnGuardPage;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~GuardPages() {
    sigaction(SIGSEGV, &before_, nullptr);
    sigaltstack(&stack_before_, nullptr);
  }
  GuardPages(const GuardPages&) = delete;
  GuardPages& operator=(const GuardPages&) = delete;

 private:
  char stack_[size_t{16} << 10];
  stack_t stack_before_ = {};
  struct sigaction before_ = {};
};

}  // namespace

thread_local Machine* Machine::current_ = nullptr;

Machine::Machine(const MachineOptions& options) : options_(options), random_(options.seed) {
  threads_.reserve(kMostThreads);  // so that the elements never move
}

Machine::~Machine() {
  body_ = nullptr;  // ends the fibers
  for (ThreadState& thread : threads_) {
    if (thread.fiber) Resume(thread);
  }
}

std::optional<Fault> Machine::Launch(const Shape& shape, const std::function<void()>& body) {
  if (shape.threads <= 0 || shape.threads % 32 != 0 || shape.threads > kMostThreads || shape.blocks <= 0) std::abort();
  const cpu::FloatMode mode;
  const GuardPages guard;
  Machine* const before = std::exchange(current_, this);
  shape_ = shape;
  body_ = &body;
  fault_.reset();
  threads_.resize(std::max(threads_.size(), static_cast<size_t>(shape.threads)));
  for (size_t i = 0; i < threads_.size(); ++i) threads_[i].index = static_cast<int>(i);
  warps_.resize(threads_.size() / 32);
  // The address of empty shared memory is outside every buffer, so that each access is a fault.
  shared_ = shape.shared_bytes == 0 ? nowhere_.data() : static_cast<std::byte*>(memory_.Allocate(shape.shared_bytes));
  launch_first_ = interval_ + 1;
  std::vector<int> order(static_cast<size_t>(shape.blocks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  for (const int block : order) {
    if (fault_) break;
    block_ = block;
    memory_.Reset(shared_, shape.shared_bytes);
    RunBlock();
  }
  if (shape.shared_bytes > 0) memory_.Free(shared_);
  // After a fault, unwinds the threads that wait within the kernel.
  for (ThreadState& thread : threads_) {
    if (thread.state != State::kDone) Resume(thread);
  }
  running_ = nullptr;
  current_ = before;
  return std::exchange(fault_, std::nullopt);
}

// Creates the fiber of a thread. The fiber runs one kernel after another.
void Machine::Begin(ThreadState& thread) {
  FiberStack allocator;
  const boost::context::stack_context stack = allocator.allocate();
  thread.stack = {static_cast<std::byte*>(stack.sp) - kStackBytes, kStackBytes};
  thread.fiber = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack),
                                       allocator, [this](boost::context::fiber&& from) {
                                         scheduler_ = std::move(from);
                                         scheduler_stack_ = EnterStack(nullptr);
                                         while (body_ != nullptr) {
                                           try {
                                             if (!fault_) (*body_)();
                                           } catch (const Stopped&) {  // fault_ describes the fault
                                           }
                                           running_->state = State::kDone;
                                           ReturnToScheduler();
                                         }
                                         LeaveStack(scheduler_stack_, /*ends=*/true);
                                         return std::move(scheduler_);
                                       });
}

void Machine::RunBlock() {
  block_first_ = ++interval_;
  const int count = shape_.threads / 32;
  for (int i = 0; i < shape_.threads; ++i) {
    ThreadState& thread = threads_[static_cast<size_t>(i)];
    if (!thread.fiber) Begin(thread);
    thread.state = State::kReady;
    thread.exchanges = 0;
    thread.open.clear();
    thread.in_flight.clear();
  }
  for (WarpState& warp : warps_) warp.interval = 0;
  const std::span<ThreadState> threads(threads_.data(), static_cast<size_t>(shape_.threads));
  std::vector<int> warps(static_cast<size_t>(count));
  std::iota(warps.begin(), warps.end(), 0);
  while (!fault_) {
    std::shuffle(warps.begin(), warps.end(), random_);
    for (const int warp : warps) {
      if (!RunWarp(warp)) return;
    }
    const auto is_done = [](const ThreadState& thread) { return thread.state == State::kDone; };
    if (std::all_of(threads.begin(), threads.end(), is_done)) break;
    ++interval_;
    if (!Release(threads, State::kAtBlock)) return;
  }
  if (options_.counts) counters_.EndBlock();
}

// Runs the lanes until each is done or waits at a barrier of the block. Returns false after a fault.
bool Machine::RunWarp(int warp) {
  const std::span<ThreadState> lanes(threads_.data() + warp * 32, 32);
  WarpState& state = warps_[static_cast<size_t>(warp)];
  std::array<int, 32> order;
  std::iota(order.begin(), order.end(), 0);
  while (true) {
    std::shuffle(order.begin(), order.end(), random_);
    for (const int lane : order) {
      ThreadState& thread = lanes[static_cast<size_t>(lane)];
      if (thread.state == State::kReady) Resume(thread);
      if (fault_) return false;
    }
    const auto at_warp = [](const ThreadState& thread) { return thread.state == State::kAtWarp; };
    if (std::none_of(lanes.begin(), lanes.end(), at_warp)) return true;
    if (state.ends_interval) ++state.interval;
    if (!Release(lanes, State::kAtWarp)) return false;
  }
}

bool Machine::Release(std::span<ThreadState> threads, State state) {
  const ThreadState* const waits =
      &*std::find_if(threads.begin(), threads.end(), [&](const ThreadState& thread) { return thread.state == state; });
  for (const ThreadState& thread : threads) {
    if (thread.state == state && SamePlace(thread.at, waits->at)) continue;
    Report(FaultKind::kDiverged, *waits, nullptr,
           thread.state == State::kDone
               ? absl::StrCat("thread ", thread.index, " has ended")
               : absl::StrCat("thread ", thread.index, " is at a barrier of line ", thread.at.line),
           waits->at);
    return false;
  }
  for (ThreadState& thread : threads) thread.state = State::kReady;
  return true;
}

void Machine::Resume(ThreadState& thread) {
  running_ = &thread;
  void* const state = LeaveStack(thread.stack);
  thread.fiber = std::move(thread.fiber).resume();
  EnterStack(state);
}

void Machine::ReturnToScheduler() {
  void* const state = LeaveStack(scheduler_stack_);
  scheduler_ = std::move(scheduler_).resume();
  scheduler_stack_ = EnterStack(state);
}

void Machine::Yield(State state, Source at) {
  running_->state = state;
  running_->at = at;
  ReturnToScheduler();
  if (fault_) throw Stopped();  // another thread has ended the launch
}

Running Machine::RunningNow() const {
  const uint64_t warp_interval = warps_[static_cast<size_t>(running_->index / 32)].interval;
  return {Moment(interval_, warp_interval, running_->index), launch_first_, block_first_};
}

void Machine::Report(FaultKind kind, const ThreadState& thread, const void* address, std::string detail, Source at) {
  if (fault_) return;
  fault_ = {.kind = kind,
            .kernel = shape_.kernel,
            .block = block_,
            .thread = thread.index,
            .source = at,
            .address = reinterpret_cast<uintptr_t>(address),
            .detail = std::move(detail)};
}

void Machine::Throw(FaultKind kind, const void* address, std::string detail, Source at) {
  Report(kind, *running_, address, std::move(detail), at);
  throw Stopped();
}

void Machine::RequireAligned(const void* address, size_t alignment, Source at) {
  if (reinterpret_cast<uintptr_t>(address) % alignment == 0) return;
  Throw(FaultKind::kMisaligned, address, absl::StrCat("not a multiple of ", alignment), at);
}

void Machine::Read(const void* address, size_t bytes, bool is_shared, Source at) {
  std::string detail;
  const FaultKind* const fault = memory_.Read(RunningNow(), reinterpret_cast<uintptr_t>(address), bytes, detail);
  if (fault != nullptr) Throw(*fault, address, detail, at);
  if (options_.counts) counters_.Add(running_->index, address, bytes, is_shared, at);
}

void Machine::Write(const void* address, size_t bytes, bool is_shared, Source at) {
  std::string detail;
  const FaultKind* const fault = memory_.Write(RunningNow(), reinterpret_cast<uintptr_t>(address), bytes, detail);
  if (fault != nullptr) Throw(*fault, address, detail, at);
  if (options_.counts) counters_.Add(running_->index, address, bytes, is_shared, at);
}

void Machine::SyncBlock(Source at) {
  Yield(State::kAtBlock, at);
}

void Machine::SyncWarp(Source at) {
  warps_[static_cast<size_t>(running_->index / 32)].ends_interval = true;
  Yield(State::kAtWarp, at);
}

std::span<const Machine::Words, 32> Machine::Exchange(const Words& own, Source at) {
  WarpState& warp = warps_[static_cast<size_t>(running_->index / 32)];
  warp.ends_interval = false;  // an exchange synchronizes the lanes but does not order their writes
  auto& turn = warp.exchanged[running_->exchanges++ % 2];
  turn[static_cast<size_t>(running_->index % 32)] = own;
  Yield(State::kAtWarp, at);
  return turn;
}

void Machine::CopyAsync(void* to, const void* from, bool valid, Source at) {
  RequireAligned(to, kCopyBytes, at);
  if (valid) RequireAligned(from, kCopyBytes, at);
  std::string detail;
  const FaultKind* const fault = memory_.Fly(RunningNow(), reinterpret_cast<uintptr_t>(to), kCopyBytes, detail);
  if (fault != nullptr) Throw(*fault, to, detail, at);
  if (options_.counts) counters_.Add(running_->index, to, kCopyBytes, /*is_shared=*/true, at);
  running_->open.push_back({to, from, valid});
}

void Machine::CommitCopies() {
  running_->in_flight.push_back(std::exchange(running_->open, {}));
}

// Performs the copies of the awaited groups. The hardware may perform them at any time before the wait ends; the
// emulator does so as late as possible.
void Machine::WaitCopies(size_t left, Source at) {
  for (; running_->in_flight.size() > left; running_->in_flight.pop_front()) {
    for (const Copy& copy : running_->in_flight.front()) {
      memory_.Land(RunningNow(), reinterpret_cast<uintptr_t>(copy.to), kCopyBytes);
      if (!copy.valid) {
        std::memset(copy.to, 0, kCopyBytes);
        continue;
      }
      std::string detail;
      const auto from = reinterpret_cast<uintptr_t>(copy.from);
      const FaultKind* const fault = memory_.Read(RunningNow(), from, kCopyBytes, detail);
      if (fault != nullptr) Throw(*fault, copy.from, detail, at);
      std::memcpy(copy.to, copy.from, kCopyBytes);
    }
  }
}

}  // namespace vitrine::cuda::emulated
