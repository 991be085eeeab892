// SPDX-License-Identifier: Apache-2.0
// Settings and counters of the fake CUDA driver (libcuda.cc), for the test that loads the driver.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_CONTROL_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_CONTROL_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "models/engine/cuda/driver/functions.h"
#include "models/engine/cuda/emulated/products.h"

namespace vitrine::testing {

struct FakeSettings {
  int version = 13000;
  int devices = 1;
  int major = 9, minor = 0;  // compute capability
  int multiprocessors = 3;
  size_t memory_bytes = size_t{512} << 20;
  size_t pinned_bytes = size_t{512} << 20;
  int kernel_microseconds = 0;  // added to the time of each kernel
  int64_t lost_at_launch = 0;   // n: the n-th launch of a graph loses the device; 0: none
  // Number of graph launches after which kernels and uploads do nothing and downloads return zeros. Kernels still take
  // kernel_microseconds. Negative: no limit.
  int64_t free_after = -1;
  // Rounding of the sums in bf16 matrix products.
  cuda::emulated::RoundingModel rounding = cuda::emulated::RoundingModel::kSm90;
  uint64_t seed = 1;  // seed of the random order of streams and of threads
};

// Numbers and sizes of the objects that exist on the fake device.
struct FakeUse {
  size_t device_bytes = 0, pinned_bytes = 0;
  int contexts = 0, modules = 0, streams = 0, events = 0, graphs = 0, graph_execs = 0;

  bool operator==(const FakeUse&) const = default;
  friend void PrintTo(const FakeUse& use, std::ostream* out) {
    *out << use.device_bytes << " bytes, " << use.pinned_bytes << " pinned, " << use.contexts << " contexts, "
         << use.modules << " modules, " << use.streams << " streams, " << use.events << " events, " << use.graphs
         << " graphs, " << use.graph_execs << " executable graphs";
  }
};

// Controls the fake driver. Thread-safe.
class FakeControl {
 public:
  // Discards all objects and counters, as if the process were new. No driver call may be in progress.
  virtual void Reset(const FakeSettings& settings) = 0;
  // Makes the n-th call from now return an error. If `nth` is 0, no call fails. If `sticky`, all later calls return the
  // error too. If the n-th call releases an object, the call still releases it, like a real driver.
  virtual void Fail(int64_t nth, cuda::driver::Result error, bool sticky) = 0;
  // Makes the next call of the function with this name return an error.
  virtual void FailNext(const std::string& name, cuda::driver::Result error, bool sticky) = 0;
  // Pause(true) stops the execution of queued work until Pause(false).
  virtual void Pause(bool pauses) = 0;
  // Makes the n-th kernel from now run forever, so that its stream never continues. If `nth` is 0, no kernel does this.
  virtual void Hang(int64_t nth) = 0;

  // Returns the number of calls of the function with this name since Reset. If `name` is "", counts the calls of all
  // functions.
  virtual int64_t Calls(const std::string& name) const = 0;
  virtual FakeUse use() const = 0;
  // Returns the invalid calls and the faults of kernels, one per line.
  virtual std::string faults() const = 0;

 protected:
  ~FakeControl() = default;
};

// Name of the function that the library exports to return its FakeControl*.
inline constexpr char kFakeControlSymbol[] = "vitrine_fake_driver";

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_CONTROL_H_
