// SPDX-License-Identifier: Apache-2.0
// Settings and counters of the fake driver, for the test that loaded it.
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
  int kernel_microseconds = 0;  // added to each kernel
  int64_t lost_at_launch = 0;   // the n-th launch of a graph loses the device; 0: none
  // After this many launches of graphs nothing is computed or copied: downloads give zeros. Kernels still take their
  // microseconds. Negative: never.
  int64_t free_after = -1;
  // Rounding of sums in products of bf16.
  cuda::emulated::RoundingModel rounding = cuda::emulated::RoundingModel::kSm90;
  uint64_t seed = 1;  // of the order among streams and of the kernels' schedule
};

// Objects that exist on the fake device.
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

// Thread-safe.
class FakeControl {
 public:
  // Begins a new driver, as a new process would have; what exists is forgotten. No call may be under way.
  virtual void Reset(const FakeSettings& settings) = 0;
  // Lets the n-th call from now return an error; a sticky one is returned by all calls after it too. A call that
  // releases something releases it all the same, as the driver's do. 0: none.
  virtual void Fail(int64_t nth, cuda::driver::Result error, bool sticky) = 0;
  // Lets the next call of the function with this name return an error.
  virtual void FailNext(const std::string& name, cuda::driver::Result error, bool sticky) = 0;
  // Lets the device stand still until Pause(false).
  virtual void Pause(bool pauses) = 0;
  // Lets the n-th kernel from now run forever: its stream stands still. 0: none.
  virtual void Hang(int64_t nth) = 0;

  // Calls since Reset: of the function with this name; all for "".
  virtual int64_t Calls(const std::string& name) const = 0;
  virtual FakeUse use() const = 0;
  // Calls that a driver forbids, and faults of kernels, one a line.
  virtual std::string faults() const = 0;

 protected:
  ~FakeControl() = default;
};

// Name of the library's function of type FakeControl*().
inline constexpr char kFakeControlSymbol[] = "vitrine_fake_driver";

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_FAKE_DRIVER_CONTROL_H_
