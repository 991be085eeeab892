// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_EXECUTION_DEVICE_H_
#define VITRINE_SERVER_EXECUTION_DEVICE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// Where models live and compute.
struct Device {
  enum class Kind { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;  // of the CUDA device; 0 for the CPU

  std::string name() const;  // "cpu" or "cuda:1", as LibTorch spells it
  std::string_view kind_name() const { return kind == Kind::kCpu ? "cpu" : "cuda"; }
};

// "cpu" or "cuda:N" ("cuda" is cuda:0). INVALID_ARGUMENT quotes anything else.
absl::StatusOr<Device> ParseDevice(std::string_view text);

// Makes the device usable: loads LibTorch's CUDA library and checks that the device exists. Call it before anything
// else of LibTorch, once, from main: LibTorch looks for CUDA at its first use and keeps what it found.
// FAILED_PRECONDITION names what is missing: the driver, the first library that cannot be loaded, or the device.
absl::Status OpenDevice(const Device& device);

// Whether an open CUDA device is lost for good: after some errors (an illegal address, a fallen-off bus) every call of
// the process fails, and only a new process gets the device back. Tries a small computation; waits for it.
bool IsLost(const Device& device);

}  // namespace vitrine

#endif  // VITRINE_SERVER_EXECUTION_DEVICE_H_
