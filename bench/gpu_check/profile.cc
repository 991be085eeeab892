// SPDX-License-Identifier: Apache-2.0
// Measures the time of a model's kernel launches.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/gpu_check/measurements.h"
#include "bench/gpu_check/profiled_device.h"
#include "common/status_macros.h"
#include "models/engine/cuda/engine.h"
#include "models/engine/logits.h"

namespace vitrine {
namespace {

// Kernel launches that have the same name in a table, and their total time.
struct Group {
  int launches = 0;
  double milliseconds = 0;
};

// Returns "blocks.*.attention.qkv" for "blocks.3.attention.qkv".
std::string StepOfAnyBlock(const std::string& step) {
  std::vector<std::string> parts = absl::StrSplit(step, '.');
  for (std::string& part : parts) {
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (number) part = "*";
  }
  return absl::StrJoin(parts, ".");
}

// Measurements of one model, precision and batch.
struct Profile {
  std::vector<cuda::Launch> launches = {};
  std::vector<double> of_launch = {};  // milliseconds, medians
  double graph = 0, engine_run = 0;
  size_t images = 0;
  int64_t bytes = 0;  // size of the batch's pixels
};

absl::StatusOr<Profile> Measure(const CheckSetting& setting, const Measured& measured, Precision precision,
                                int passes) {
  const cuda::BatchLimits limits = LimitsFor(measured);
  ASSIGN_OR_RETURN(const std::unique_ptr<ProfiledDevice> device,
                   ProfiledDevice::Make(*setting.card, StagingFor(limits), passes));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<cuda::driver::Slot> slot,
      cuda::driver::Slot::Make(*setting.card, {.staging_bytes = StagingFor(limits), .limit = kDeviceTimeout}));
  const std::vector<const float*> weights = measured.subject.weights();
  engine::WeightsInMemory source(weights);
  const program::Program& program = measured.subject.description().program();
  cuda::Device* const devices[] = {device.get(), slot.get()};
  ASSIGN_OR_RETURN(const auto engines,
                   cuda::Engine::MakeSlots(program, source, devices,
                                           {.limits = limits, .choice = {.precision = precision, .kept = {}}}));
  std::vector<engine::ImagePlanes> planes;
  for (const FloatArray& image : measured.images) planes.push_back(ImageOf(image));
  std::vector<float> logits(planes.size() * static_cast<size_t>(engines.front()->plan().classes));
  RETURN_IF_ERROR(engines.front()->Run(planes, logits.data()));

  Profile profile = {.launches = engines.front()->plan().launches, .images = planes.size(), .bytes = 4 * limits.pixels};
  for (const std::vector<double>& times : device->times().launches) profile.of_launch.push_back(MedianOf(times));
  profile.graph = MedianOf(device->times().graphs);
  std::vector<double> runs;
  for (int pass = 0; pass <= passes; ++pass) {
    const auto begin = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(engines.back()->Run(planes, logits.data()));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (pass > 0) runs.push_back(took.count());
  }
  profile.engine_run = MedianOf(std::move(runs));
  return profile;
}

// Returns a table of groups, the slowest first. `columns` are the columns of a group's name.
HtmlTable TableOf(const std::map<std::vector<std::string>, Group>& groups, std::vector<HtmlTable::Column> columns,
                  double total, size_t images) {
  std::vector<std::pair<std::vector<std::string>, Group>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.milliseconds > b.second.milliseconds; });
  for (const char* const name : {"launches", "us", "us each", "ns/image", "share"}) columns.push_back({name, true});
  HtmlTable table = {.columns = std::move(columns)};
  for (const auto& [name, group] : sorted) {
    std::vector<std::string> row = name;
    const double microseconds = 1e3 * group.milliseconds;
    for (const std::string& text : {absl::StrCat(group.launches), absl::StrFormat("%.1f", microseconds),
                                    absl::StrFormat("%.2f", microseconds / group.launches),
                                    absl::StrFormat("%.1f", 1e3 * microseconds / static_cast<double>(images)),
                                    absl::StrFormat("%.1f %%", 100 * group.milliseconds / total)}) {
      row.push_back(text);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void Add(const std::string& title, const Profile& profile, double bytes_per_second, CheckReport& report) {
  double total = 0;
  std::map<std::vector<std::string>, Group> kernels, steps;
  for (size_t i = 0; i < profile.launches.size(); ++i) {
    const cuda::Launch& launch = profile.launches[i];
    for (Group* const group : {&kernels[{launch.kernel}], &steps[{StepOfAnyBlock(launch.step), launch.kernel}]}) {
      ++group->launches;
      group->milliseconds += profile.of_launch[i];
    }
    total += profile.of_launch[i];
  }
  const auto rate = [&](double milliseconds) {
    return absl::StrFormat("%.0f", 1e3 * static_cast<double>(profile.images) / milliseconds);
  };
  const double copy = 1e3 * static_cast<double>(profile.bytes) / bytes_per_second;
  HtmlTable summary = {.columns = {{"part"}, {"ms", true}, {"images/s", true}}};
  for (const auto& [name, milliseconds] : {std::pair("graph: all kernels, pixels on the device", profile.graph),
                                           {"kernels one by one, sum of medians", total},
                                           {"copy of the pixels at the measured rate", copy},
                                           {"engine's Run: host copies, bus, graph, logits", profile.engine_run}}) {
    summary.rows.push_back({name, absl::StrFormat("%.3f", milliseconds), rate(milliseconds)});
  }
  report.Add(title, absl::StrFormat("Copies to the device: %.1f GB/s.", bytes_per_second * 1e-9), summary);
  report.Add(title + ": kernels", "", TableOf(kernels, {{"kernel"}}, total, profile.images));
  report.Add(title + ": steps", "", TableOf(steps, {{"step"}, {"kernel"}}, total, profile.images));
}

}  // namespace

void ProfileModels(const CheckSetting& setting, const MeasuredSetting& measured, CheckReport& report) {
  for (const std::string& model : measured.models) {
    for (const int batch : measured.batches) {
      for (const Precision precision : measured.precisions) {
        const std::string title = absl::StrCat("profile ", model, " ", Name(precision), " batch ", batch);
        report.Run(title, [&]() -> absl::StatusOr<std::string> {
          ASSIGN_OR_RETURN(const double bytes_per_second, CopyRate(*setting.card));
          ASSIGN_OR_RETURN(const Measured of_model, MakeMeasured(model, batch));
          ASSIGN_OR_RETURN(const Profile profile, Measure(setting, of_model, precision, measured.passes));
          Add(title, profile, bytes_per_second, report);
          return absl::StrFormat("graph %.3f ms, %.0f images/s", profile.graph,
                                 1e3 * static_cast<double>(profile.images) / profile.graph);
        });
      }
    }
  }
}

}  // namespace vitrine
