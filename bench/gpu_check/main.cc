// SPDX-License-Identifier: Apache-2.0
// vitrine-gpu-check: compares Vitrine's engine on a CUDA device with its engine on the CPU, tests memory, swaps and
// load, and measures speed. script/gpu-check packs this program for a machine with a device.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "bench/gpu_check/checks.h"
#include "bench/gpu_check/measurements.h"
#include "common/command_line/command_line.h"
#include "common/command_line/number_check.h"
#include "common/simd/cpu_description.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "vitrine-gpu-check";
constexpr int kExitNoDevice = 77;  // marks a skipped test for ctest and automake

using Check = void (*)(const CheckSetting&, CheckReport&);
constexpr std::pair<const char*, Check> kChecks[] = {{"primitives", CheckPrimitives},
                                                     {"forms", CheckForms},
                                                     {"versions", CheckVersions},
                                                     {"memory", CheckMemory},
                                                     {"swap", CheckSwap},
                                                     {"refusal", CheckRefusal},
                                                     {"load", CheckLoad}};

struct Options {
  std::string device = "cuda:0";
  std::string repository = "models/bundled", samples = "samples", out;
  std::vector<std::string> checks, forms, profile, throughput, precisions = {"bf16"};
  std::vector<int> batches = {64, 256};
  int passes = 20, threads = 8;
  double seconds = 20;
};

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

// A device that was opened twice: in the engine's CudaLibrary, and directly through the CUDA driver.
struct OpenedCard {
  const CudaLibrary* library = nullptr;
  std::unique_ptr<cuda::driver::Card> card;
  std::vector<std::pair<std::string, std::string>> facts;
};

// Returns the number N of a device that is given as "cuda:N" or "N".
absl::StatusOr<int> DeviceNumber(const std::string& device) {
  int number = 0;
  const std::string text = device.starts_with("cuda:") ? device.substr(5) : device;
  if (absl::SimpleAtoi(text, &number) && number >= 0) return number;
  return WrongCommandLine(absl::InvalidArgumentError("--device must be cuda:0, cuda:1, ..., got " + device));
}

absl::StatusOr<OpenedCard> Open(int device) {
  OpenedCard opened;
  ASSIGN_OR_RETURN(opened.library, OpenCudaLibrary());
  RETURN_IF_ERROR(opened.library->open_device(device));
  ASSIGN_OR_RETURN(const cuda::driver::Driver driver, cuda::driver::Driver::Open());
  ASSIGN_OR_RETURN(opened.card, cuda::driver::Card::Open(driver, device, opened.library->kernels));
  int version = 0;
  RETURN_IF_ERROR(driver.Check(driver.functions().cuDriverGetVersion(&version), "cuDriverGetVersion"));
  const cuda::driver::Card& card = *opened.card;
  opened.facts = {{"", card.model()},
                  {"compute capability", absl::StrCat(card.capability() / 10, ".", card.capability() % 10)},
                  {"multiprocessors", absl::StrCat(card.multiprocessors())},
                  {"driver for CUDA", absl::StrCat(version / 1000, ".", version % 1000 / 10)},
                  {"host", cpu::CpuDescription()},
                  {"vitrine", absl::StrCat(VITRINE_VERSION, " ", std::string(SourceRevision()))},
                  {"", absl::FormatTime("%Y-%m-%d %H:%M", absl::Now(), absl::UTCTimeZone())}};
  return opened;
}

absl::StatusOr<MeasuredSetting> MeasuredOf(const Options& options, const std::vector<std::string>& models) {
  MeasuredSetting measured = {
      .models = models, .batches = options.batches, .passes = options.passes, .threads = options.threads};
  for (const std::string& name : options.precisions) {
    const std::optional<Precision> precision = ParsePrecision(name);
    if (!precision) return WrongCommandLine(absl::InvalidArgumentError("--precision has no " + name));
    measured.precisions.push_back(*precision);
  }
  return measured;
}

// Returns true if a check is requested. By default all checks are requested, unless something is measured.
bool Wants(const Options& options, const std::string& check) {
  if (options.checks.empty()) return options.profile.empty() && options.throughput.empty();
  return std::find(options.checks.begin(), options.checks.end(), check) != options.checks.end();
}

absl::Status RunAll(const Options& options, int device, const OpenedCard& opened) {
  ASSIGN_OR_RETURN(const MeasuredSetting profile, MeasuredOf(options, options.profile));
  ASSIGN_OR_RETURN(const MeasuredSetting throughput, MeasuredOf(options, options.throughput));
  CheckSetting setting = {.device = device,
                          .library = opened.library,
                          .card = opened.card.get(),
                          .repository = options.repository,
                          .forms = options.forms,
                          .load = absl::Seconds(options.seconds)};
  if (Wants(options, "versions")) {
    ASSIGN_OR_RETURN(setting.images, ReadImages(options.samples));
    ASSIGN_OR_RETURN(setting.versions, ListVersions(setting.repository));
    if (setting.versions.empty()) {
      return absl::NotFoundError(absl::StrCat("--repository ", options.repository, " holds no version"));
    }
  }
  CheckReport report;
  for (const auto& [name, check] : kChecks) {
    if (Wants(options, name)) check(setting, report);
  }
  ProfileModels(setting, profile, report);
  MeasureThroughput(setting, throughput, report);
  if (!options.out.empty()) {
    std::ofstream page(options.out);
    page << report.Page(opened.facts);
    if (!page.flush()) return absl::UnavailableError("--out " + options.out + " cannot be written");
  }
  std::printf("%d checks on cuda:%d, %d failed\n", report.checks(), device, report.failures());
  if (report.failures() == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(report.failures(), " checks failed on cuda:", device));
}

void AddOptions(CLI::App& app, Options& options) {
  std::vector<std::string> names;
  for (const auto& [name, check] : kChecks) names.emplace_back(name);
  app.add_option("--device", options.device, "Device to check: cuda:N")->capture_default_str();
  app.add_option("--repository", options.repository, "Folder of published versions")->capture_default_str();
  app.add_option("--samples", options.samples, "Folder of images")->capture_default_str();
  app.add_option(
         "--check", options.checks,
         "Checks to run: " + absl::StrJoin(names, ",") + "; all by default, none with --profile or --throughput")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--form", options.forms, "Small forms to compare; all by default")->delimiter(',');
  app.add_option("--seconds", options.seconds, "Seconds of load")->capture_default_str()->check(NumberFrom(0, 86400));
  app.add_option("--profile", options.profile,
                 "Models of the zoo or small forms whose kernels are timed: xcit-n12,vit-ti16")
      ->delimiter(',');
  app.add_option("--throughput", options.throughput, "Models whose images per second are measured")->delimiter(',');
  app.add_option("--precision", options.precisions, "Precisions to measure: fp32,bf16,int8")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--batch", options.batches, "Images of a measured batch")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option("--passes", options.passes, "Passes of a profile")->capture_default_str()->check(CLI::Range(1, 10000));
  app.add_option("--threads", options.threads, "Threads that feed a throughput")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--out", options.out, "HTML file for the report");
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Checks that a CUDA device computes what the CPU computes, and measures it. Exits with 77 where there is no "
      "device.",
      kProgram);
  AddOptions(app, options);
  if (const std::optional<int> code = ParseCommandLine(app, argc, argv)) return *code;
  const absl::StatusOr<int> device = DeviceNumber(options.device);
  if (!device.ok()) return Fail(kProgram, device.status());
  absl::StatusOr<OpenedCard> opened = Open(*device);
  if (!opened.ok()) {
    const int code =
        Fail(kProgram, absl::Status(opened.status().code(), absl::StrCat("device cuda:", *device, " cannot be used: ",
                                                                         std::string(opened.status().message()))));
    // FAILED_PRECONDITION means that there is no usable device. Other errors occur only on a device, for example if its
    // memory is full or the kernels cannot be loaded.
    return absl::IsFailedPrecondition(opened.status()) ? kExitNoDevice : code;
  }
  for (const auto& [name, value] : opened->facts)
    std::printf("%s%s%s\n", name.c_str(), name.empty() ? "" : ": ", value.c_str());
  const absl::Status checked = RunAll(options, *device, *opened);
  return checked.ok() ? kExitSuccess : Fail(kProgram, checked);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::EndOutput(vitrine::kProgram, vitrine::Main(argc, argv));
}
