// SPDX-License-Identifier: Apache-2.0
#include "server/registry/device.h"

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/simd/chosen_path.h"
#include "common/simd/cpu_description.h"
#include "common/status_macros.h"
#include "models/engine/cpu/instructions.h"
#include "models/engine/cuda_library.h"

namespace vitrine {
namespace {

absl::Status Refuse(const Device& device, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("device ", device.name(), " cannot be used: ", why, "; start with --device cpu instead"));
}

}  // namespace

std::string Device::name() const {
  return kind == Kind::kCpu ? "cpu" : absl::StrCat("cuda:", index);
}

absl::StatusOr<Device> ParseDevice(std::string_view text) {
  if (text == "cpu") return Device{};
  if (text == "cuda") return Device{Device::Kind::kCuda, 0};
  constexpr std::string_view kPrefix = "cuda:";
  Device device{Device::Kind::kCuda, 0};
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    const std::string_view digits = text.substr(kPrefix.size());
    const bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (plain && absl::SimpleAtoi(std::string(digits), &device.index) && device.index < 128) return device;
  }
  return absl::InvalidArgumentError(absl::StrCat("device \"", absl::Utf8SafeCEscape(std::string(text.substr(0, 64))),
                                                 "\" is not known; use cpu, cuda:0, cuda:1, ..."));
}

absl::Status CheckDevice(std::string_view text, const DeviceBatch& batch, const std::set<std::string>& given) {
  const absl::StatusOr<Device> device = ParseDevice(text);
  std::vector<std::string> faults;
  if (!device.ok()) faults.emplace_back(device.status().message());
  const bool is_cpu = device.ok() && device->kind == Device::Kind::kCpu;
  for (const auto& [flag, value, most] : {std::tuple("--device-batch-images", batch.images, 4096),
                                          std::tuple("--device-batch-tokens", batch.tokens, 1 << 20)}) {
    if (value < 1 || value > most) {
      faults.push_back(absl::StrCat(flag, " is ", value, "; it must be 1 to ", most));
    } else if (is_cpu && given.contains(flag)) {
      faults.push_back(absl::StrCat(flag, " needs --device cuda:N"));
    }
  }
  if (is_cpu && given.contains("--device-batch-timeout")) {
    faults.emplace_back("--device-batch-timeout needs --device cuda:N");
  }
  return faults.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

Precision DefaultPrecision(const Device& device) {
  return device.kind == Device::Kind::kCuda ? Precision::kBf16 : Precision::kFp32;
}

absl::Status OpenDevice(const Device& device, std::optional<Precision> chosen) {
  if (device.kind == Device::Kind::kCpu) {
    const Precision precision = chosen.value_or(DefaultPrecision(device));
    ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
    const absl::Status can = engine::CanCompute(precision, path);
    return can.ok() ? can : absl::FailedPreconditionError(absl::StrCat("--precision: ", std::string(can.message())));
  }
  const absl::StatusOr<const CudaLibrary*> library = OpenCudaLibrary();
  if (!library.ok()) return Refuse(device, std::string(library.status().message()));
  const absl::Status opened = (*library)->open_device(device.index);
  return opened.ok() ? opened : Refuse(device, std::string(opened.message()));
}

Compute ComputeOn(const Device& device, std::optional<Precision> chosen) {
  const Precision precision = chosen.value_or(DefaultPrecision(device));
  Compute compute{.device = device.name(), .cpu = cpu::CpuDescription(), .path = "cuda", .precision = Name(precision)};
  if (device.kind != Device::Kind::kCpu) {
    if (!chosen.has_value()) compute.precision = "auto";  // depends on the version
    return compute;
  }
  const absl::StatusOr<cpu::CpuPath> path = cpu::ChosenPath();
  if (path.ok()) compute.path = cpu::Name(engine::PathOf(*path, precision));
  return compute;
}

std::optional<DeviceBatch> BatchLimitsOf(const Device& device) {
  return device.kind == Device::Kind::kCuda ? std::optional(device.batch) : std::nullopt;
}

absl::StatusOr<DeviceStatus> StatusOf(const Device& device) {
  ASSIGN_OR_RETURN(const CudaLibrary* library, OpenCudaLibrary());
  return library->status(device.index);
}

std::function<std::optional<DeviceStatus>()> StatusSource(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return nullptr;
  return [device]() -> std::optional<DeviceStatus> {
    const absl::StatusOr<DeviceStatus> status = StatusOf(device);
    return status.ok() ? std::optional(*status) : std::nullopt;
  };
}

std::function<bool()> LossSource(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return nullptr;
  return [device] { return IsLost(device); };
}

bool IsLost(const Device& device) {
  if (device.kind == Device::Kind::kCpu) return false;
  const absl::StatusOr<const CudaLibrary*> library = OpenCudaLibrary();
  return !library.ok() || (*library)->is_lost(device.index);
}

}  // namespace vitrine
