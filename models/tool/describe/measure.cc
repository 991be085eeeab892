// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/measure.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "common/simd/chosen_path.h"
#include "common/simd/float_mode.h"
#include "common/status_macros.h"
#include "models/engine/cpu/frame_memory.h"
#include "models/engine/cpu/group.h"
#include "models/tool/describe/subject.h"

namespace vitrine {
namespace {

constexpr double kRoundSeconds = 0.15;  // duration of the passes in one round
constexpr int kMostPasses = 200;

int64_t FloatsOf(const engine::Frame& frame, engine::Operand operand) {
  return operand.buffer < 0 ? 0 : frame.rows(frame.RowsOfBuffer(operand)) * operand.columns;
}

void AddCost(const engine::Step& step, const engine::Frame& frame, StepProfile& profile) {
  const engine::StepCost cost = step.CostOn(frame);
  int64_t floats = cost.outside_floats + FloatsOf(frame, step.writes);
  for (const engine::Operand& read : step.reads) floats += FloatsOf(frame, read);
  profile.kind = cost.kind;
  profile.precision = cost.precision;
  profile.multiply_adds += cost.multiply_adds;
  profile.bytes += floats * static_cast<int64_t>(sizeof(float));
}

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
      std::vector<StepProfile> steps = ProfileSteps(engine_, images_, workspace_);
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

std::vector<StepProfile> ProfileSteps(const engine::Engine& engine, std::span<const engine::ImagePlanes> images,
                                      engine::Workspace& workspace) {
  using Clock = std::chrono::steady_clock;
  const engine::Plan& plan = engine.plan();
  const cpu::FloatMode mode;  // the float mode of Engine::Run
  auto& memory = workspace.Of<engine::FrameMemory>();
  std::vector<StepProfile> profiles;
  for (const auto& step : plan.steps) profiles.push_back({.name = step->name});
  for (size_t first = 0; first < images.size();) {
    const std::span<const engine::ImagePlanes> group = engine::FirstGroup(images.subspan(first), plan.cell);
    const engine::Frame& frame = memory.Prepare(plan, engine.kernels(), group, static_cast<int>(first)).front();
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Clock::time_point start = Clock::now();
      plan.steps[i]->Run(frame);
      profiles[i].seconds += std::chrono::duration<double>(Clock::now() - start).count();
      AddCost(*plan.steps[i], frame, profiles[i]);
    }
    first += group.size();
  }
  return profiles;
}

double Measurement::SumOfSteps() const {
  double sum = 0;
  for (const StepProfile& step : steps) sum += step.seconds;
  return sum;
}

double BoundOf(const StepProfile& step, const CorePeaks& peaks) {
  return std::max(2.0 * static_cast<double>(step.multiply_adds) / (peaks.GflopsOf(step.precision) * 1e9),
                  static_cast<double>(step.bytes) / (peaks.cache_gbps * 1e9));
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
