// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_DEVICE_H_
#define VITRINE_SERVER_MODELS_REGISTRY_DEVICE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/precision.h"

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

// Makes the device usable: for the CPU it looks at VITRINE_ISA (base/simd/chosen_path.h); for a CUDA device it loads
// LibTorch and its CUDA library, and checks that the device exists. Once, before anything else is done with it.
// FAILED_PRECONDITION names what is missing: the driver, the first library that cannot be loaded, the device, or the
// CPU's instructions for products of `precision`, which models are to be computed in unless they say otherwise.
absl::Status OpenDevice(const Device& device, Precision precision = Precision::kFp32);

// What computes on an open device, in words.
struct Compute {
  std::string device;
  std::string cpu;        // its own name and numbers
  std::string path;       // of the kernels of that precision, "avx512", "amx"; "libtorch" on a CUDA device
  std::string precision;  // that models compute in, unless they say otherwise
};
Compute ComputeOn(const Device& device, Precision precision);

// Whether an open CUDA device is lost for good; see TorchLibrary::is_lost.
bool IsLost(const Device& device);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_DEVICE_H_
