// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/measure.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu/engine.h"
#include "models/tool/describe/subject.h"

namespace vitrine {
namespace {

constexpr double kRoundSeconds = 0.15;  // duration of the passes in one round
constexpr int kMostPasses = 200;

// Times an engine on random images of one size.
class Timer {
 public:
  Timer(const engine::Engine& engine, int channels, const WorkloadInput& input) : engine_(engine) {
    pixels_ = RandomPixels(channels, input, /*seed=*/1);
    images_.assign(static_cast<size_t>(input.images), {pixels_.data(), channels, input.height, input.width});
    logits_.resize(images_.size() * static_cast<size_t>(engine.plan().classes));
  }

  // Runs one round, which alternates between whole passes and passes that are measured step by step.
  void Round(Measurement& measured) {
    using Clock = std::chrono::steady_clock;
    engine_.Run(images_, workspace_, logits_.data());
    double spent = 0;
    for (int pass = 0; pass < kMostPasses && (pass < 2 || spent < kRoundSeconds); ++pass) {
      const Clock::time_point start = Clock::now();
      engine_.Run(images_, workspace_, logits_.data());
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      measured.whole = std::min(measured.whole, seconds);
      spent += 2 * seconds;
      std::vector<engine::StepProfile> steps = engine::ProfileSteps(engine_, images_, workspace_);
      for (size_t i = 0; i < measured.steps.size(); ++i) {
        steps[i].seconds = std::min(steps[i].seconds, measured.steps[i].seconds);
      }
      measured.steps = std::move(steps);
    }
  }

 private:
  const engine::Engine& engine_;
  engine::Workspace workspace_;
  std::vector<float> pixels_;
  std::vector<engine::ImagePlanes> images_;
  std::vector<float> logits_;
};

}  // namespace

double Measurement::SumOfSteps() const {
  double sum = 0;
  for (const engine::StepProfile& step : steps) sum += step.seconds;
  return sum;
}

double BoundOf(const engine::StepProfile& step, const engine::CorePeaks& peaks) {
  return std::max(2.0 * static_cast<double>(step.multiply_adds) / (peaks.GflopsOf(step.precision) * 1e9),
                  static_cast<double>(step.bytes) / (peaks.cache_gbps * 1e9));
}

engine::CorePeaks PeaksOfThisCore() {
  const cpu::CpuPath path = cpu::ChosenPath().value_or(cpu::SupportedPaths().back());
  return engine::MeasureCorePeaks(*engine::FindInstructions(path));
}

absl::StatusOr<Measurement> MeasureForward(const program::Program& program, std::span<const float* const> weights,
                                           int channels, const WorkloadInput& input, Precision precision) {
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(const engine::Engine engine,
                   engine::Engine::Make(program, weights, path, {.precision = precision, .kept = {}}));
  Measurement measured;
  measured.precision = precision;
  measured.path = cpu::Name(engine.path());
  measured.whole = std::numeric_limits<double>::infinity();
  Timer timer(engine, channels, input);
  measured.rounds = UntilSteady([&] {
    measured.peaks.RaiseTo(PeaksOfThisCore());
    timer.Round(measured);
    return measured.whole + measured.SumOfSteps();
  });
  return measured;
}

}  // namespace vitrine
