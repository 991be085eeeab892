// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_check/checks.h"

#include <ATen/TensorOperators.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace vitrine {

void CheckReport::Run(const std::string& check, const std::function<absl::StatusOr<std::string>()>& run) {
  const absl::StatusOr<std::string> figures = [&]() -> absl::StatusOr<std::string> {
    try {
      return run();
    } catch (const std::exception& error) {
      return absl::InternalError(error.what());
    }
  }();
  ++checks_;
  failures_ += figures.ok() ? 0 : 1;
  const std::string text = figures.ok() ? *figures : std::string(figures.status().message());
  std::printf("%-7s %-38s %s\n", figures.ok() ? "ok" : "FAILED", check.c_str(), text.c_str());
  std::fflush(stdout);
}

double RelativeError(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor actual = a.detach().cpu().to(at::kDouble);
  const at::Tensor expected = b.detach().cpu().to(at::kDouble);
  const double largest = expected.abs().max().item<double>();
  return (actual - expected).abs().max().item<double>() / (largest == 0 ? 1 : largest);
}

TemporaryRepository::TemporaryRepository() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vitrine-gpu-check-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder can be made at " + pattern);
  path_ = pattern;
}

TemporaryRepository::~TemporaryRepository() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace vitrine
