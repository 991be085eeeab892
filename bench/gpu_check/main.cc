// SPDX-License-Identifier: Apache-2.0
// vitrine-gpu-check: compares a CUDA device with the CPU, and tests loading, batching and swapping of models on the
// device. script/gpu-check copies this program to a machine with a device.
#include <ATen/Parallel.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/gpu_check/checks.h"
#include "common/command_line/command_line.h"
#include "common/status_macros.h"
#include "models/reference/torch_backend/torch_functions.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int kExitNoDevice = 77;  // marks a skipped test for ctest and automake

// Returns every JPEG, PNG and WebP file below the folder, sorted by name.
absl::StatusOr<std::vector<std::string>> ReadImages(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path extension = entry->path().extension();
    if (extension == ".jpg" || extension == ".png" || extension == ".webp") files.push_back(entry->path());
  }
  if (error || files.empty()) return absl::NotFoundError(absl::StrCat("--samples ", folder.string(), " has no image"));
  std::sort(files.begin(), files.end());
  std::vector<std::string> images;
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    images.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return images;
}

absl::Status RunChecks(CheckSetting setting, const std::string& samples) {
  ASSIGN_OR_RETURN(setting.images, ReadImages(samples));
  ASSIGN_OR_RETURN(setting.versions, ListVersions(setting.repository));
  if (setting.versions.empty()) {
    return absl::NotFoundError(absl::StrCat("--repository ", setting.repository.string(), " holds no version"));
  }
  at::set_num_threads(1);  // as in the server
  CheckReport report;
  CheckParity(setting, report);
  CheckWeights(setting, report);
  CheckMixedBatch(setting, report);
  CheckSwap(setting, report);
  std::printf("%d checks on %s, %d failed\n", report.checks(), setting.device.name().c_str(), report.failures());
  if (report.failures() == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(report.failures(), " checks failed on ", setting.device.name()));
}

int Main(int argc, char** argv) {
  CheckSetting setting;
  std::string device = "cuda:0", repository = "models/bundled", samples = "samples";
  CLI::App app("Checks that a device computes what the CPU computes. Exits with 77 where there is no such device.",
               "vitrine-gpu-check");
  app.add_option("--device", device, "Under test: cuda:N, or cpu to try the checks themselves")->capture_default_str();
  app.add_option("--repository", repository, "Folder of published versions")->capture_default_str();
  app.add_option("--samples", samples, "Folder of images")->capture_default_str();
  if (const std::optional<int> code = ParseCommandLine(app, argc, argv)) return *code;
  UseTorchLibrary(&kTorchFunctions);
  const absl::StatusOr<Device> parsed = ParseDevice(device);
  if (!parsed.ok()) {
    Fail("vitrine-gpu-check", parsed.status());
    return kExitUsage;
  }
  absl::Status opened = OpenDevice(*parsed);
  if (opened.ok() && parsed->kind == Device::Kind::kCuda) opened = kTorchFunctions.open_device(parsed->name());
  if (!opened.ok()) {
    Fail("vitrine-gpu-check", opened);
    return kExitNoDevice;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("vitrine-gpu-check"));
  spdlog::set_level(spdlog::level::err);
  setting.device = *parsed;
  setting.repository = repository;
  const absl::Status checked = RunChecks(std::move(setting), samples);
  return checked.ok() ? kExitSuccess : Fail("vitrine-gpu-check", checked);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
