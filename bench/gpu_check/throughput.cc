// SPDX-License-Identifier: Apache-2.0
// Measures the images per second of a model that several threads feed.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/gpu_check/measurements.h"
#include "common/status_macros.h"
#include "models/engine/cuda/backend.h"
#include "models/engine/logits.h"

namespace vitrine {
namespace {

constexpr int kWindows = 5;

struct Rates {
  double median = 0, least = 0, most = 0;  // images/s of a window
};

// Runs images repeatedly on each thread. Measures the images per second in several time windows, after one window of
// warm-up. At any time, all threads together request about two batches of images.
absl::StatusOr<Rates> Measure(const Backend& backend, const Measured& measured, const MeasuredSetting& setting) {
  std::vector<engine::ImagePlanes> planes;
  const auto batch = static_cast<int>(measured.images.size());
  const int each = std::max(1, 2 * batch / setting.threads);
  for (int i = 0; i < std::min(each, batch); ++i) planes.push_back(ImageOf(measured.images[static_cast<size_t>(i)]));
  const auto classes = static_cast<size_t>(measured.subject.description().outputs());
  std::atomic<int64_t> images = 0;
  std::atomic<bool> stop = false;
  std::vector<absl::Status> errors(static_cast<size_t>(setting.threads));
  std::vector<std::thread> threads;
  for (absl::Status& error : errors) {
    threads.emplace_back([&] {
      engine::Workspace workspace;
      std::vector<float> logits(planes.size() * classes);
      while (!stop && error.ok()) {
        error = backend.Run(planes, workspace, logits.data(), nullptr, nullptr);
        images += static_cast<int64_t>(planes.size());
      }
    });
  }
  std::vector<double> rates;
  for (int window = 0; window <= kWindows; ++window) {
    const absl::Time begin = absl::Now();
    const int64_t before = images;
    absl::SleepFor(setting.window);
    const double rate = static_cast<double>(images - before) / absl::ToDoubleSeconds(absl::Now() - begin);
    if (window > 0) rates.push_back(rate);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& error : errors) RETURN_IF_ERROR(error);
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  return Rates{MedianOf(rates), *least, *most};
}

absl::StatusOr<Rates> MeasureOn(const CheckSetting& setting, const MeasuredSetting& options, const Measured& measured,
                                Precision precision) {
  const cuda::BatchLimits limits = LimitsFor(measured);
  const std::vector<const float*> weights = measured.subject.weights();
  engine::WeightsInMemory source(weights);
  ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> backend,
                   cuda::MakeBackend(*setting.card, measured.subject.description().program(), source,
                                     {.engine = {.limits = limits, .choice = {.precision = precision, .kept = {}}},
                                      .slot = {.limit = kDeviceTimeout}}));
  return Measure(*backend, measured, options);
}

}  // namespace

void MeasureThroughput(const CheckSetting& setting, const MeasuredSetting& measured, CheckReport& report) {
  HtmlTable table = {.columns = {{"model"},
                                 {"precision"},
                                 {"batch", true},
                                 {"images/s", true},
                                 {"least", true},
                                 {"most", true},
                                 {"of the copy limit", true}}};
  for (const std::string& model : measured.models) {
    for (const int batch : measured.batches) {
      for (const Precision precision : measured.precisions) {
        const std::string title = absl::StrCat("throughput ", model, " ", Name(precision), " batch ", batch);
        report.Run(title, [&]() -> absl::StatusOr<std::string> {
          ASSIGN_OR_RETURN(const double bytes_per_second, CopyRate(*setting.card));
          ASSIGN_OR_RETURN(const Measured of_model, MakeMeasured(model, batch));
          ASSIGN_OR_RETURN(const Rates rates, MeasureOn(setting, measured, of_model, precision));
          const double limit = bytes_per_second / static_cast<double>(4 * of_model.images.front().values.size());
          table.rows.push_back({model, Name(precision), absl::StrCat(batch), absl::StrFormat("%.0f", rates.median),
                                absl::StrFormat("%.0f", rates.least), absl::StrFormat("%.0f", rates.most),
                                absl::StrFormat("%.0f %%", 100 * rates.median / limit)});
          return absl::StrFormat("%.0f images/s (%.0f to %.0f); copies alone %.0f images/s", rates.median, rates.least,
                                 rates.most, limit);
        });
      }
    }
  }
  if (!table.rows.empty()) {
    report.Add("Throughput",
               absl::StrFormat("Two slots, %d threads, fp32 planes in memory; %d windows after one of warm-up.",
                               measured.threads, kWindows),
               table);
  }
}

}  // namespace vitrine
