// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/gpu_bound.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "models/engine/cuda/launches/fast_kernels.h"
#include "models/engine/plan/plan.h"
#include "models/tool/describe/graph/layers.h"

namespace vitrine {
namespace {

// The values are from NVIDIA's data sheets of the H100 SXM5 and L4, and from NVIDIA's Ada whitepaper (RTX 4090). The
// bus is PCIe 5.0 x16 for the H100, and PCIe 4.0 x16 for the other GPUs.
constexpr Gpu kGpus[] = {
    {.name = "h100",
     .model = "NVIDIA H100 SXM5",
     .fp32_tflops = 66.9,
     .bf16_tflops = 989.4,
     .int8_tops = 1978.9,
     .memory_gbps = 3352,
     .bus_gbps = 63},
    {.name = "l4",
     .model = "NVIDIA L4",
     .fp32_tflops = 30.3,
     .bf16_tflops = 121,
     .int8_tops = 242,
     .memory_gbps = 300,
     .bus_gbps = 31.5},
    {.name = "rtx4090",
     .model = "NVIDIA GeForce RTX 4090",
     .fp32_tflops = 82.6,
     .bf16_tflops = 165.2,
     .int8_tops = 660.6,
     .memory_gbps = 1008,
     .bus_gbps = 31.5},
};

constexpr int64_t kFloat = sizeof(float);

// Counts the work of steps for `input.images` images.
class Count {
 public:
  Count(const engine::LoweredPlan& plan, int channels, const WorkloadInput& input)
      : plan_(plan), is_narrow_(cuda::NarrowBuffers(plan)), channels_(channels), input_(input), images_(input.images) {
    const int cell = std::max(1, plan.cell);
    cells_ = int64_t{input.height / cell} * (input.width / cell);
  }

  StepWork Of(const engine::PlanStep& step) {
    work_ = {.name = step.name};
    work_.bytes = Bytes(step.writes);
    for (const engine::Operand& read : step.reads) work_.bytes += Bytes(read);
    std::visit([this](const auto& settings) { Add(settings); }, step.settings);
    return work_;
  }

 private:
  int64_t Rows(engine::Operand operand) const {
    switch (plan_.buffers[static_cast<size_t>(operand.buffer)].rows) {
      case engine::RowsOf::kImages:
        return images_;
      case engine::RowsOf::kHeads:
        return images_ * engine::kHeadTokens;
      case engine::RowsOf::kCells:
        return images_ * cells_;
      case engine::RowsOf::kTokens:
        return images_ * (cells_ + plan_.prefix);
    }
    return 0;
  }
  // Returns the bytes of a row of the operand; 0 if there is none.
  int64_t RowBytes(engine::Operand operand) const {
    if (operand.buffer < 0) return 0;
    return operand.columns * (is_narrow_[static_cast<size_t>(operand.buffer)] ? 2 : kFloat);
  }
  int64_t Bytes(engine::Operand operand) const { return operand.buffer < 0 ? 0 : Rows(operand) * RowBytes(operand); }
  int64_t Pixels() const { return images_ * channels_ * input_.height * input_.width; }

  // Adds the work of multiplying `rows` rows by a matrix of weights.
  void AddMatrix(int64_t rows, const engine::FoldedMatrix& matrix) {
    const int64_t weights = matrix.inputs * matrix.outputs;
    work_.precision = matrix.precision;
    work_.multiply_adds += rows * weights;
    const int64_t width = matrix.precision == Precision::kInt8 ? 1 : matrix.precision == Precision::kBf16 ? 2 : kFloat;
    work_.bytes += weights * width + matrix.outputs * kFloat;
  }

  template <class Settings>
  void Add(const Settings&) {}  // these steps only read and write rows
  void Add(const engine::LinearStep& step) { AddMatrix(Rows(step.x), step.matrix); }
  void Add(const engine::PerceptronStep& step) {
    AddMatrix(Rows(step.first.x), step.first.matrix);
    AddMatrix(Rows(step.first.x), step.second.matrix);
  }
  void Add(const engine::TakeClassStep& step) { work_.bytes = images_ * (RowBytes(step.x) + RowBytes(step.y)); }
  void Add(const engine::PatchifyStep&) { work_.bytes += Pixels() * kFloat; }
  void Add(const engine::StemStep& step) {
    work_.bytes += Pixels() * kFloat;
    program::MapSize size = {input_.height, input_.width};
    for (const engine::StemConvolution& layer : step.layers) {
      size = program::ResultOf(layer.convolve, size);
      const int64_t pool = std::max(1, layer.convolve.pool), places = images_ * size.height * size.width;
      AddMatrix(places * pool * pool, layer.matrix);
      // The feature map between two layers is written once and read once, in the precision of the layers.
      const int64_t width = layer.matrix.precision == Precision::kBf16 ? 2 : kFloat;
      if (&layer != &step.layers.back()) work_.bytes += 2 * places * layer.matrix.outputs * width;
    }
  }
  void Add(const engine::AttendStep& step) {
    work_.precision = step.precision;
    const int64_t keys = Rows(step.k) / images_;
    work_.multiply_adds += Rows(step.y) * keys * (step.q.columns + step.v.columns);
  }
  void Add(const engine::AttendChannelsStep& step) {
    work_.precision = step.precision;
    work_.multiply_adds += 2 * Rows(step.k) * step.q.columns * (step.q.columns / step.attend.heads);
  }
  void Add(const engine::AttendLinearlyStep& step) {
    work_.multiply_adds += (Rows(step.k) + Rows(step.y)) * step.q.columns * (step.q.columns / step.attend.heads);
  }
  void Add(const engine::DepthwiseStep& step) { work_.multiply_adds += images_ * cells_ * step.x.columns * 9; }
  void Add(const engine::DenseConvolutionStep& step) { AddMatrix(images_ * cells_, step.matrix); }

  const engine::LoweredPlan& plan_;
  const std::vector<bool> is_narrow_;  // for each buffer: rows are stored in bf16
  const int channels_;
  const WorkloadInput& input_;
  const int64_t images_;
  int64_t cells_ = 0;
  StepWork work_;
};

std::vector<StepWork> Grouped(const std::vector<StepWork>& steps) {
  std::vector<StepWork> groups;
  std::map<std::string, size_t> known;
  for (const StepWork& step : steps) {
    const std::string shared = OverBlocks(step.name);
    const auto [place, is_new] = known.try_emplace(
        absl::StrCat(shared, " ", step.multiply_adds, " ", step.bytes, " ", static_cast<int>(step.precision)),
        groups.size());
    if (is_new) {
      groups.push_back(step);
    } else {
      groups[place->second].name = shared;
      ++groups[place->second].count;
    }
  }
  return groups;
}

double Seconds(const std::vector<StepWork>& steps, const Gpu& gpu) {
  double seconds = 0;
  for (const StepWork& step : steps) seconds += step.count * step.BoundOn(gpu);
  return seconds;
}

bool IsBoundByBytes(const StepWork& step, const Gpu& gpu) {
  return static_cast<double>(step.bytes) / (gpu.memory_gbps * 1e9) >=
         static_cast<double>(step.multiply_adds) / gpu.MultiplyAdds(step.precision);
}

}  // namespace

double Gpu::MultiplyAdds(Precision precision) const {
  const double tera = precision == Precision::kInt8   ? int8_tops
                      : precision == Precision::kBf16 ? bf16_tflops
                                                      : fp32_tflops;
  return tera * 1e12 / 2;
}

std::span<const Gpu> Gpus() {
  return kGpus;
}

const Gpu* FindGpu(std::string_view name) {
  const Gpu* const found =
      std::find_if(std::begin(kGpus), std::end(kGpus), [&](const Gpu& gpu) { return gpu.name == name; });
  return found == std::end(kGpus) ? nullptr : found;
}

double StepWork::BoundOn(const Gpu& gpu) const {
  return std::max(static_cast<double>(multiply_adds) / gpu.MultiplyAdds(precision),
                  static_cast<double>(bytes) / (gpu.memory_gbps * 1e9));
}

absl::StatusOr<std::vector<StepWork>> WorkOnGpu(const program::Program& program, int channels,
                                                const WorkloadInput& input, Precision precision, bool every) {
  engine::ZeroWeights weights(program);
  ASSIGN_OR_RETURN(const engine::LoweredPlan plan,
                   engine::Lower(program, weights, {.precision = precision, .kept = {}},
                                 /*has_bf16=*/true, /*tokens=*/false, /*head_rows=*/false));
  Count count(plan, channels, input);
  std::vector<StepWork> steps;
  for (const engine::PlanStep& step : plan.steps) steps.push_back(count.Of(step));
  return every ? steps : Grouped(steps);
}

DataTable BoundTable(const std::vector<StepWork>& steps, const Gpu& gpu) {
  DataTable table({{"name", "STEP"},
                   {"precision", "PRECISION"},
                   {"count", "TIMES", true},
                   {"multiply_adds", "MACS", true},
                   {"bytes", "BYTES", true},
                   {"bound_seconds", "BOUND US", true},
                   {"bound_by", "BOUND BY"},
                   {"share", "SHARE", true}});
  const double total = Seconds(steps, gpu);
  for (const StepWork& step : steps) {
    const double bound = step.BoundOn(gpu), share = step.count * bound / total;
    table.Add({Cell::Text(step.name),
               Cell::Text(Name(step.precision)),
               Cell::Count(step.count),
               {step.multiply_adds, Short(static_cast<double>(step.multiply_adds))},
               {step.bytes, Short(static_cast<double>(step.bytes))},
               Cell::Number(bound, absl::StrFormat("%.2f", bound * 1e6)),
               Cell::Text(IsBoundByBytes(step, gpu) ? "bytes" : "products"),
               Cell::Number(share, absl::StrFormat("%.1f %%", 100 * share))});
  }
  return table;
}

std::string BoundInWords(const std::vector<StepWork>& steps, const Gpu& gpu, int channels, const WorkloadInput& input) {
  const double seconds = Seconds(steps, gpu);
  const double pixels = 4.0 * input.images * channels * input.height * input.width / (gpu.bus_gbps * 1e9);
  return absl::StrFormat(
      "\nA pass on an %s takes at least %.1f us (%.0f images/s), unless its rows stay in the L2 cache.\n"
      "This is a bound, not a measurement: each step's products at the peak of the data sheet, or its rows, read and\n"
      "written once, and weights at the bandwidth of memory.\n"
      "Copying the pixels from the host takes %.1f us at the bandwidth of its bus: %.0f images/s.\n",
      gpu.model, seconds * 1e6, input.images / seconds, pixels * 1e6, input.images / pixels);
}

}  // namespace vitrine
