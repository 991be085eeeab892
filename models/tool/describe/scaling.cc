// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/scaling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/torch_library.h"
#include "models/tool/describe/peak_memory.h"
#include "models/tool/describe/subject.h"

namespace vitrine {
namespace {

constexpr double kSeconds = 0.3;  // minimum duration of a measurement's passes
constexpr int kLeastPasses = 3;

struct ScalingRow {
  WorkloadInput input;
  int64_t tokens = 0;  // number of cells of one image's grid
  int seed = 0;
  double seconds = 0;  // duration of the shortest pass
  int64_t peak_bytes = 0;
};

absl::StatusOr<std::unique_ptr<const Backend>> BackendOf(const Subject& subject, bool reference) {
  const std::vector<const float*> weights = PointersTo(subject.model);
  if (!reference) {
    ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
    return MakeCpuBackend(subject.model.description.program(), weights, path);
  }
  ASSIGN_OR_RETURN(const TorchLibrary* torch, OpenTorchLibrary());
  torch->compute_as_published();
  return torch->make_backend(subject.config(), weights);
}

// Measures the time and the peak memory of a pass for random images of the size `found.input`, and stores both in
// `found`. `found.seed` is the seed of the images.
absl::Status Measure(const Backend& backend, const ModelDescription& model, ScalingRow& found) {
  const int channels = model.config().preprocessing().channels(), height = found.input.height,
            width = found.input.width;
  const std::vector<float> pixels = RandomPixels(channels, found.input, found.seed);
  const std::vector<engine::ImagePlanes> images(static_cast<size_t>(found.input.images),
                                                {pixels.data(), channels, height, width});
  std::vector<float> logits(images.size() * static_cast<size_t>(model.outputs()));
  // Each call has a new workspace, so that PeakBytesOf counts all memory of a pass.
  const auto pass = [&] {
    engine::Workspace workspace;
    return backend.Run(images, workspace, logits.data(), nullptr, nullptr);
  };
  RETURN_IF_ERROR(pass());  // computes values that are cached per size, such as positions
  ASSIGN_OR_RETURN(found.peak_bytes, PeakBytesOf(pass));
  found.seconds = std::numeric_limits<double>::infinity();
  engine::Workspace workspace;
  double spent = 0;
  for (int i = 0; i < kLeastPasses || spent < kSeconds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(backend.Run(images, workspace, logits.data(), nullptr, nullptr));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    found.seconds = std::min(found.seconds, seconds);
    spent += seconds;
  }
  return absl::OkStatus();
}

DataTable TableOf(const std::string& model, const std::vector<ScalingRow>& measured) {
  DataTable table({{"model", ""},
                   {"height", "HEIGHT", true},
                   {"width", "WIDTH", true},
                   {"tokens", "TOKENS", true},
                   {"seed", "SEED", true},
                   {"seconds", "SECONDS", true},
                   {"peak_bytes", "PEAK BYTES", true}});
  for (const ScalingRow& row : measured) {
    table.Add({Cell::Text(model), Cell::Count(row.input.height), Cell::Count(row.input.width), Cell::Count(row.tokens),
               Cell::Count(row.seed), Cell::Number(row.seconds, absl::StrFormat("%.4g", row.seconds)),
               Cell::Count(row.peak_bytes)});
  }
  return table;
}

// Returns the exponent p if a value grows like (number of tokens)^p; null if it cannot be computed.
template <typename Value>
nlohmann::ordered_json GrowthOf(const std::vector<ScalingRow>& measured, const Value& value) {
  std::vector<std::pair<double, double>> points;
  std::set<int64_t> tokens;
  for (const ScalingRow& row : measured) {
    tokens.insert(row.tokens);
    points.emplace_back(row.tokens, value(row));
    if (!(points.back().second > 0)) return nullptr;
  }
  if (tokens.size() < 2) return nullptr;
  return PowerOf(points);
}

void Print(const Subject& subject, const ScalingOptions& options, const std::vector<ScalingRow>& measured) {
  const DataTable table = TableOf(subject.name, measured);
  if (options.format == OutputFormat::kCsv) {
    std::cout << table.Print(OutputFormat::kCsv);
    return;
  }
  const nlohmann::ordered_json time = GrowthOf(measured, [](const ScalingRow& row) { return row.seconds; });
  const nlohmann::ordered_json memory =
      GrowthOf(measured, [](const ScalingRow& row) { return static_cast<double>(row.peak_bytes); });
  if (options.format == OutputFormat::kJson) {
    std::cout << nlohmann::ordered_json{{"model", subject.name},
                                        {"by", options.reference ? "reference" : "engine"},
                                        {"images", options.batch},
                                        {"powers", {{"seconds", time}, {"peak_bytes", memory}}},
                                        {"measured", table.AsJson()}}
                     .dump(2)
              << "\n";
    return;
  }
  std::cout << subject.name << " by " << (options.reference ? "the reference" : "the CPU engine")
            << " on one core, images per pass: " << options.batch << "\n\n"
            << table.Print(OutputFormat::kTable);
  const auto print = [](const char* what, const nlohmann::ordered_json& power) {
    if (power.is_number()) {
      std::cout << absl::StrFormat("%s grows with the tokens to the power %.2f\n", what, power.get<double>());
    }
  };
  std::cout << "\n";
  print("time", time);
  print("peak memory", memory);
}

}  // namespace

double PowerOf(std::span<const std::pair<double, double>> points) {
  const auto count = static_cast<double>(points.size());
  double x_sum = 0, y_sum = 0;
  for (const auto& [x, y] : points) x_sum += std::log(x), y_sum += std::log(y);
  double products = 0, squares = 0;
  for (const auto& [x, y] : points) {
    const double difference = std::log(x) - x_sum / count;
    products += difference * (std::log(y) - y_sum / count);
    squares += difference * difference;
  }
  return products / squares;
}

absl::Status ScalingCommand(const ScalingOptions& options) {
  ASSIGN_OR_RETURN(Subject subject, FindSubject(options.model, options.repository, /*weights=*/true));
  std::vector<ScalingRow> sizes;
  for (const std::string& resolution : options.resolutions) {
    ASSIGN_OR_RETURN(subject.input, ParseResolution(resolution));
    subject.input.images = options.batch;
    ASSIGN_OR_RETURN(const Grid grid, GridOf(subject));
    sizes.push_back({.input = subject.input, .tokens = grid.cells()});
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> backend, BackendOf(subject, options.reference));
  std::vector<ScalingRow> measured;
  for (ScalingRow size : sizes) {
    std::cerr << absl::StrFormat("vitrine-repo: measuring %d x %d pixels, %d tokens\n", size.input.height,
                                 size.input.width, size.tokens);
    for (size.seed = 1; size.seed <= options.repeats; ++size.seed) {
      RETURN_IF_ERROR(Measure(*backend, subject.model.description, size));
      measured.push_back(size);
    }
  }
  Print(subject, options, measured);
  return absl::OkStatus();
}

}  // namespace vitrine
