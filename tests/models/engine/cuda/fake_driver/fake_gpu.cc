// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/cuda/fake_driver/fake_gpu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vitrine::testing {
namespace {

// Small allocations are parts of larger blocks and may be adjacent, as in the real driver.
constexpr size_t kGranularity = 512, kBlockBytes = size_t{64} << 10;

// Functions whose calls the setting fail=N does not count. The number of calls of cuEventQuery depends on the time that
// a batch takes. The other functions release objects, and the engine ignores their errors.
constexpr const char* kUnchecked[] = {
    "cuEventQuery",       "cuMemFree_v2",       "cuMemFreeHost",  "cuEventDestroy_v2",
    "cuStreamDestroy_v2", "cuGraphExecDestroy", "cuModuleUnload", "cuDevicePrimaryCtxRelease_v2"};

}  // namespace

using cuda::driver::DevicePointer;
using cuda::driver::StreamHandle;

thread_local cuda::driver::ContextHandle current_context = nullptr;

FakeGpu& FakeGpu::Get() {
  static auto& gpu = *new FakeGpu();
  return gpu;
}

// Reads settings from the environment variable VITRINE_FAKE_GPU, for tests that start a program with the fake driver.
// Example: "memory=1000000,kernel_us=50,lost=100,hang=30,free_after=10". With fail=N, the N-th call of the process
// returns an error, and later calls succeed; calls of the functions in kUnchecked do not count.
FakeGpu::FakeGpu() {
  FakeSettings chosen;
  int64_t hang = 0, fail = 0;
  const char* const text = std::getenv("VITRINE_FAKE_GPU");
  for (const absl::string_view setting : absl::StrSplit(text == nullptr ? "" : text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(setting, absl::MaxSplits('=', 1));
    int64_t value = 0;
    if (!absl::SimpleAtoi(pair.second, &value)) std::abort();
    if (pair.first == "memory") {
      chosen.memory_bytes = static_cast<size_t>(value);
    } else if (pair.first == "kernel_us") {
      chosen.kernel_microseconds = static_cast<int>(value);
    } else if (pair.first == "rounding") {
      chosen.rounding = static_cast<cuda::emulated::RoundingModel>(value);
    } else if (pair.first == "version") {
      chosen.version = static_cast<int>(value);
    } else if (pair.first == "free_after") {
      chosen.free_after = value;
    } else if (pair.first == "devices") {
      chosen.devices = static_cast<int>(value);
    } else if (pair.first == "lost") {
      chosen.lost_at_launch = value;
    } else if (pair.first == "hang") {
      hang = value;
    } else if (pair.first == "fail") {
      fail = value;
    } else {
      std::abort();
    }
  }
  Reset(chosen);
  Hang(hang);
  fail_checked_at_ = fail;
  failure_ = cuda::driver::kInvalidValue;
  worker_ = std::thread([this] { Work(); });
}

void FakeGpu::Reset(const FakeSettings& chosen) {
  std::unique_lock lock(mutex);
  // Waits for running work, because it uses the emulated machine that is replaced below.
  changed_.wait(lock, [&] {
    return std::none_of(streams.begin(), streams.end(), [](StreamHandle stream) { return stream->runs; });
  });
  const std::scoped_lock machine_lock(machine_mutex_);
  Forget();
  settings = chosen;
  machine_ = std::make_unique<cuda::emulated::Machine>(
      cuda::emulated::MachineOptions{.seed = chosen.seed, .sms = chosen.multiprocessors, .rounding = chosen.rounding});
  random_.seed(chosen.seed);
  calls_.clear();
  all_calls_ = checked_calls_ = kernels_ = fail_at_ = fail_checked_at_ = hang_at_ = 0;
  fail_next_.clear();
  lost_ = cuda::driver::kSuccess;
  faults_.clear();
  changed_.notify_all();
}

void FakeGpu::Forget() {
  const auto retire = [this](auto& handles) {
    for (auto* const handle : handles) Retire(handle);
    handles.clear();
  };
  retire(modules);
  retire(streams);
  retire(events);
  retire(graphs);
  retire(execs);
  for (const auto& [memory, bytes] : pinned) ::operator delete(memory);
  pinned.clear();
  pinned_total = 0;
  device_.clear();
  blocks_.clear();
  open_block_ = 0;
  device_total_ = 0;
  initialized = paused_ = false;
  context_count = 0;
}

void FakeGpu::Fail(int64_t nth, Result error, bool sticky) {
  const std::scoped_lock lock(mutex);
  fail_at_ = nth == 0 ? 0 : all_calls_ + nth;
  failure_ = error;
  failure_is_sticky_ = sticky;
}

void FakeGpu::FailNext(const std::string& name, Result error, bool sticky) {
  const std::scoped_lock lock(mutex);
  fail_next_ = name;
  failure_ = error;
  failure_is_sticky_ = sticky;
}

void FakeGpu::Pause(bool pauses) {
  const std::scoped_lock lock(mutex);
  paused_ = pauses;
  changed_.notify_all();
}

void FakeGpu::Hang(int64_t nth) {
  const std::scoped_lock lock(mutex);
  hang_at_ = nth == 0 ? 0 : kernels_ + nth;
}

int64_t FakeGpu::Calls(const std::string& name) const {
  const std::scoped_lock lock(mutex);
  if (name.empty()) return all_calls_;
  const auto found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

FakeUse FakeGpu::use() const {
  const std::scoped_lock lock(mutex);
  const auto count = [](const auto& handles) { return static_cast<int>(handles.size()); };
  return {.device_bytes = device_total_,
          .pinned_bytes = pinned_total,
          .contexts = context_count,
          .modules = count(modules),
          .streams = count(streams),
          .events = count(events),
          .graphs = count(graphs),
          .graph_execs = count(execs)};
}

std::string FakeGpu::faults() const {
  const std::scoped_lock lock(mutex);
  return faults_;
}

Result FakeGpu::Begin(const char* name, bool needs_context, bool& injected) {
  injected = false;
  const int64_t calls = ++calls_[name];
  ++all_calls_;
  const bool is_checked = std::none_of(std::begin(kUnchecked), std::end(kUnchecked),
                                       [&](const char* unchecked) { return std::strcmp(name, unchecked) == 0; });
  if (is_checked) ++checked_calls_;
  if (calls == settings.lost_at_launch && std::strcmp(name, "cuGraphLaunch") == 0) {
    lost_ = cuda::driver::kIllegalAddress;
  }
  if (lost_ != cuda::driver::kSuccess) return lost_;
  const bool fails_checked = is_checked && checked_calls_ == fail_checked_at_;
  if (all_calls_ == fail_at_ || fails_checked || fail_next_ == name) {
    fail_next_.clear();
    if (failure_is_sticky_) lost_ = failure_;
    injected = true;
    changed_.notify_all();
    return failure_;
  }
  if (!initialized && std::strcmp(name, "cuInit") != 0 && std::strcmp(name, "cuDriverGetVersion") != 0) {
    return Forbid(cuda::driver::kNotInitialized, absl::StrCat(name, " before cuInit"));
  }
  if (needs_context && (current_context != &context || context_count == 0)) {
    return Forbid(cuda::driver::kInvalidContext, absl::StrCat(name, " in a thread without a current context"));
  }
  return cuda::driver::kSuccess;
}

Result FakeGpu::Forbid(Result result, const std::string& why) {
  absl::StrAppend(&faults_, why, "\n");
  return result;
}

Result FakeGpu::RefuseInCapture(const char* name) {
  for (const StreamHandle stream : streams) {
    const bool is_own = stream->captured_by == std::this_thread::get_id();
    if (!stream->captures || (!is_own && stream->mode != cuda::driver::kCaptureGlobal)) continue;
    stream->invalid = true;
    return Forbid(cuda::driver::kCaptureUnsupported, absl::StrCat(name, " during a capture"));
  }
  return cuda::driver::kSuccess;
}

void FakeGpu::Add(StreamHandle stream, FakeWork work) {
  if (stream->captures) {
    stream->captured.push_back(std::move(work));
    return;
  }
  stream->queue.push_back(std::move(work));
  changed_.notify_all();
}

void FakeGpu::Synchronize(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] {
    if (lost_ != cuda::driver::kSuccess) return true;
    for (const StreamHandle stream : streams) {
      if (stream->hangs || stream->runs || !stream->queue.empty()) return false;
    }
    return true;
  });
}

bool FakeGpu::IsPinned(const void* memory, size_t bytes) const {
  auto* const begin = const_cast<std::byte*>(static_cast<const std::byte*>(memory));
  auto found = pinned.upper_bound(begin);
  return found != pinned.begin() && begin + bytes <= std::prev(found)->first + std::prev(found)->second;
}

bool FakeGpu::IsOnDevice(DevicePointer memory, size_t bytes) const {
  const auto found = device_.upper_bound(memory);
  return found != device_.begin() && memory + bytes <= std::prev(found)->first + std::prev(found)->second;
}

DevicePointer FakeGpu::AllocateDevice(std::unique_lock<std::mutex>& lock, size_t bytes) {
  if (device_total_ + bytes > settings.memory_bytes) return 0;
  device_total_ += bytes;
  const size_t taken = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  const bool is_small = taken <= kBlockBytes / 4;
  if (is_small && (open_block_ == 0 || block_used_ + taken > kBlockBytes)) {
    open_block_ = AllocateOnMachine(lock, kBlockBytes);
    block_used_ = 0;
    blocks_[open_block_] = 0;
  }
  DevicePointer memory = 0;
  if (is_small) {
    memory = open_block_ + block_used_;
    block_used_ += taken;
    ++blocks_[open_block_];
  } else {
    memory = AllocateOnMachine(lock, bytes);
  }
  device_[memory] = bytes;
  return memory;
}

DevicePointer FakeGpu::AllocateOnMachine(std::unique_lock<std::mutex>& lock, size_t bytes) {
  lock.unlock();
  LockMachine();
  const auto memory = reinterpret_cast<DevicePointer>(machine_->memory().Allocate(bytes));
  machine_mutex_.unlock();
  lock.lock();
  return memory;
}

void FakeGpu::LockMachine() {
  ++wait_for_machine_;
  machine_mutex_.lock();
  --wait_for_machine_;
}

void FakeGpu::FreeDevice(std::unique_lock<std::mutex>& lock, DevicePointer memory) {
  Synchronize(lock);
  if (lost_ != cuda::driver::kSuccess) return;
  const auto found = device_.find(memory);
  device_total_ -= found->second;
  device_.erase(found);
  const auto block = blocks_.upper_bound(memory);
  if (block != blocks_.begin() && memory < std::prev(block)->first + kBlockBytes) {
    const auto own = std::prev(block);
    if (--own->second > 0) return;
    memory = own->first;
    if (memory == open_block_) open_block_ = 0;
    blocks_.erase(own);
  }
  lock.unlock();
  LockMachine();
  machine_->memory().Free(reinterpret_cast<void*>(memory));
  machine_mutex_.unlock();
  lock.lock();
}

void FakeGpu::Work() {
  std::unique_lock lock(mutex);
  while (true) {
    std::vector<StreamHandle> ready;
    for (const StreamHandle stream : streams) {
      if (!stream->queue.empty() && !stream->hangs) ready.push_back(stream);
    }
    if (ready.empty() || paused_ || lost_ != cuda::driver::kSuccess) {
      changed_.wait(lock);
      continue;
    }
    const StreamHandle stream = ready[random_() % ready.size()];
    const FakeWork work = std::move(stream->queue.front());
    stream->queue.pop_front();
    if (work.kind == FakeWork::Kind::kKernel && ++kernels_ == hang_at_) {
      stream->hangs = true;
      std::fputs("fake driver: a kernel hangs\n", stderr);  // for tests of programs
      continue;
    }
    stream->runs = true;
    Execute(lock, work);
    stream->runs = false;
    changed_.notify_all();
  }
}

void FakeGpu::Execute(std::unique_lock<std::mutex>& lock, const FakeWork& work) {
  double seconds = 0;
  std::optional<cuda::emulated::Fault> fault;
  const FakeSettings chosen = settings;
  const bool is_free = chosen.free_after >= 0 && calls_["cuGraphLaunch"] > chosen.free_after;
  lock.unlock();
  while (wait_for_machine_ > 0) std::this_thread::yield();
  {
    const std::scoped_lock machine_lock(machine_mutex_);
    switch (work.kind) {
      case FakeWork::Kind::kUpload:
        if (!is_free) machine_->memory().Upload(work.to, work.from, work.bytes);
        break;
      case FakeWork::Kind::kDownload:
        if (is_free) {
          std::memset(work.to, 0, work.bytes);
        } else {
          machine_->memory().Download(work.to, work.from, work.bytes);
        }
        break;
      case FakeWork::Kind::kKernel:
        seconds = chosen.kernel_microseconds * 1e-6;
        if (!is_free) fault = machine_->Launch(work.shape, [&] { work.kernel->run(work.arguments.data()); });
        break;
      default:
        break;
    }
  }
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  lock.lock();
  if (work.kind == FakeWork::Kind::kEvent) {
    work.event->done = work.record;
    work.event->at = std::chrono::steady_clock::now();
  }
  if (work.kind == FakeWork::Kind::kGraphEnd) --work.exec->in_flight;
  if (fault) {
    Forbid(cuda::driver::kIllegalAddress, fault->ToString());
    lost_ = cuda::driver::kIllegalAddress;
  }
}

}  // namespace vitrine::testing
