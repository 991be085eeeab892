// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_DEVICE_H_
#define VITRINE_SERVER_REGISTRY_DEVICE_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/engine/device_status.h"
#include "models/engine/precision.h"

namespace vitrine {

// The device that stores models and computes with them.
struct Device {
  enum class Kind { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;           // CUDA device number; 0 for the CPU
  DeviceBatch batch = {};  // limits of the batches that a CUDA device computes

  std::string name() const;  // returns "cpu" or "cuda:1", as in LibTorch
  std::string_view kind_name() const { return kind == Kind::kCpu ? "cpu" : "cuda"; }
};

// Parses "cpu" or "cuda:N"; "cuda" means cuda:0. INVALID_ARGUMENT: any other text, which the message quotes.
absl::StatusOr<Device> ParseDevice(std::string_view text);

// Checks the text of a device and the limits of its batches. `given`: names of the flags that were set; a CPU does not
// accept the flags of batch limits. INVALID_ARGUMENT has one line per fault.
absl::Status CheckDevice(std::string_view text, const DeviceBatch& batch, const std::set<std::string>& given);

// Returns the precision of models if none is chosen: bf16 on a CUDA device, which multiplies bf16 several times faster
// than fp32, and fp32 on a CPU. Versions whose manifest does not allow bf16 are computed in fp32.
Precision DefaultPrecision(const Device& device);

// Prepares the device. For the CPU, reads VITRINE_ISA (common/simd/chosen_path.h). For a CUDA device, loads
// libvitrine_cuda.so and the driver, and copies the kernels to the device. Must be called once, before any use of the
// device. `chosen` is the precision of models; null: DefaultPrecision. FAILED_PRECONDITION names what is missing: the
// driver, a library, the device, or CPU instructions for the precision. For other errors, see cpu::ChosenPath.
absl::Status OpenDevice(const Device& device, std::optional<Precision> chosen = std::nullopt);

// Description of an open device, as text for people.
struct Compute {
  std::string device;
  std::string cpu;        // see cpu::CpuDescription
  std::string path;       // kernels used for `precision`: "avx512", "amx"; "cuda" on a CUDA device
  std::string precision;  // default precision of models; "auto" if it depends on the version
};
// `chosen`: see OpenDevice.
Compute ComputeOn(const Device& device, std::optional<Precision> chosen);

// Returns the limits of the batches that the device computes; nullopt for the CPU.
std::optional<DeviceBatch> BatchLimitsOf(const Device& device);

// Returns the state of an open CUDA device, or the device's error, for example if it is lost.
absl::StatusOr<DeviceStatus> StatusOf(const Device& device);
// Returns a function that calls StatusOf and returns nullopt on an error; null for the CPU.
std::function<std::optional<DeviceStatus>()> StatusSource(const Device& device);

// Returns a function that returns true if an open CUDA device is permanently lost (CudaLibrary::is_lost); null for the
// CPU.
std::function<bool()> LossSource(const Device& device);
// Returns the result of LossSource's function; false for the CPU.
bool IsLost(const Device& device);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_DEVICE_H_
