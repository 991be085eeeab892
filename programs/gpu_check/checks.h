// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_GPU_CHECK_CHECKS_H_
#define VITRINE_PROGRAMS_GPU_CHECK_CHECKS_H_

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "repository/repository.h"
#include "server/models/registry/device.h"

namespace vitrine {

// What the checks work with.
struct CheckSetting {
  Device device;  // under test; the CPU is what it is compared with
  std::filesystem::path repository;
  std::vector<VersionId> versions;    // in the repository, at least one
  std::vector<std::string> pictures;  // encoded photographs, of different shapes
  at::Device torch_device() const { return at::Device(device.name()); }
};

// Largest difference allowed, relative to the largest value of the CPU's tensor.
inline constexpr double kTolerance = 1e-4;

// Prints a line for each check and counts.
class CheckReport {
 public:
  // `run` gives the figures of a check that passed, or what is wrong, by status or by exception.
  void Run(const std::string& check, const std::function<absl::StatusOr<std::string>()>& run);
  int checks() const { return checks_; }
  int failures() const { return failures_; }

 private:
  int checks_ = 0;
  int failures_ = 0;
};

// Largest |a - b| / largest |b|, wherever the tensors are; not a number if one of them holds such. Of equal shapes.
double RelativeError(const at::Tensor& a, const at::Tensor& b);

// A folder that goes with everything in it.
class TemporaryRepository {
 public:
  TemporaryRepository();
  ~TemporaryRepository();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Compares logits and attention matrices of the device with those of the CPU, in batches of mixed sizes: a small
// model of every form of every family with random weights, and every published version with real pictures.
void CheckParity(const CheckSetting& setting, CheckReport& report);

// Every published version is loaded onto the device, proves itself on its goldens, and all its tensors are there.
void CheckWeights(const CheckSetting& setting, CheckReport& report);

// Pictures of many shapes go through scheduler and executor in one batch; the answers are those of the CPU.
void CheckMixedBatch(const CheckSetting& setting, CheckReport& report);

// A second version is published while the first is in use: the registry swaps, and the first goes with its last user.
void CheckSwap(const CheckSetting& setting, CheckReport& report);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_GPU_CHECK_CHECKS_H_
