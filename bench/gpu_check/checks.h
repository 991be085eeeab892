// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_GPU_CHECK_CHECKS_H_
#define VITRINE_BENCH_GPU_CHECK_CHECKS_H_

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/repository/repository.h"
#include "server/registry/device.h"

namespace vitrine {

// Input of the checks.
struct CheckSetting {
  Device device;  // under test; compared with the CPU
  std::filesystem::path repository;
  std::vector<VersionId> versions;  // in the repository, at least one
  std::vector<std::string> images;  // encoded photographs, of different shapes
  at::Device torch_device() const { return at::Device(device.name()); }
};

// Largest allowed difference, relative to the largest value of the CPU's tensor.
inline constexpr double kTolerance = 1e-4;

// Prints a line for each check, and counts checks and failures.
class CheckReport {
 public:
  // Runs a check. `run` returns the figures of a check that passed, or fails by status or exception.
  void Run(const std::string& check, const std::function<absl::StatusOr<std::string>()>& run);
  int checks() const { return checks_; }
  int failures() const { return failures_; }

 private:
  int checks_ = 0;
  int failures_ = 0;
};

// Returns the largest |a - b| / largest |b|; NaN if `a` or `b` has a NaN. Requires equal shapes; devices may differ.
double RelativeError(const at::Tensor& a, const at::Tensor& b);

// A temporary folder that is removed with its content.
class TemporaryRepository {
 public:
  TemporaryRepository();
  ~TemporaryRepository();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Compares logits and attention matrices of the device with the CPU's, in batches of mixed sizes. Checks small models
// with random weights in every form of every family, and every published version with real images.
void CheckParity(const CheckSetting& setting, CheckReport& report);

// Loads every published version onto the device, which runs its goldens, and checks the size of its weights.
void CheckWeights(const CheckSetting& setting, CheckReport& report);

// Runs images of many shapes through scheduler and executor in one batch. The answers must equal the CPU's.
void CheckMixedBatch(const CheckSetting& setting, CheckReport& report);

// Publishes a second version while the first is in use. The registry must swap, and free the first version when its
// last user releases it.
void CheckSwap(const CheckSetting& setting, CheckReport& report);

}  // namespace vitrine

#endif  // VITRINE_BENCH_GPU_CHECK_CHECKS_H_
