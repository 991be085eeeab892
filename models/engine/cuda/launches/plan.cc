// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/plan.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/engine/cuda/launches/fast_kernels.h"
#include "models/engine/cuda/launches/stem.h"
#include "models/engine/cuda/launches/taps.h"

namespace vitrine::cuda {
namespace {

using engine::LoweredPlan;
using engine::Operand;

// Converts steps to launches.
class LaunchMaker : public StepMemory {
 public:
  explicit LaunchMaker(const StepMemory& memory)
      : StepMemory(memory), limits_(memory.limits()), batch_(memory.batch()) {
    SetNarrow(NarrowBuffers(lowered()));
  }

  absl::Status Make() {
    for (size_t i = 0; i < lowered().steps.size(); ++i) {
      const engine::PlanStep& step = lowered().steps[i];
      name_ = step.name;
      Begin();
      if (const std::optional<LocalSteps> local = FindLocalSteps(lowered(), i)) {
        DoLocal(*local);
        i += LocalSteps::kCount - 1;
      } else {
        std::visit([this](const auto& settings) { Do(settings); }, step.settings);
      }
      RETURN_IF_ERROR(status_);
    }
    Finish();
    plan_.logits = At(lowered().logits);
    plan_.cell = lowered().cell;
    plan_.prefix = lowered().prefix;
    plan_.classes = lowered().classes;
    return absl::OkStatus();
  }

  LaunchPlan Take() { return std::move(plan_); }

 private:
  template <class Arguments>
  void Add(const char* kernel, const Arguments& arguments) {
    plan_.launches.push_back(MakeLaunch(name_, kernel, arguments));
  }
  template <class Arguments>
  void AddChosen(const Arguments& arguments) {
    const KernelChoice choice = Choose(arguments);
    Launch launch = MakeLaunch(name_, choice.kernel, arguments);
    launch.threads = choice.threads;
    launch.shared_bytes = choice.shared_bytes;
    plan_.launches.push_back(std::move(launch));
  }
  void AddTap(TakeTap take) { plan_.taps.push_back({plan_.launches.size(), std::move(take)}); }

  // --- operations on single rows

  const RowStatistics* AddStatistics(const Matrix& x, std::optional<float> epsilon) {
    if (!epsilon) return nullptr;
    auto* const statistics = Scratch<RowStatistics>(MostRows(x.rows));
    Add("vitrine_fast_row_statistics", StatisticsArguments{batch_, x, *epsilon, statistics});
    return statistics;
  }

  // Adds the launches of a linear layer if a fast kernel supports it. Otherwise adds nothing and returns false.
  bool AddFastLinear(const Matrix& x, const engine::LinearStep& step, const Matrix& y) {
    FastLinearArguments arguments = FastArguments(step, batch_, x, y, At(step.residual));
    const Precision precision = step.matrix.precision;
    if (!SuitsFastLinear(step, arguments)) return false;
    if (!arguments.normalizes) arguments.statistics = AddStatistics(x, step.norm_epsilon);
    SetWeights(arguments, Find(step.matrix, MatrixLayout::kByOutputs));
    plan_.launches.push_back(FastLinear(name_, arguments, precision));
    return true;
  }
  void AddLinear(const Matrix& x, const engine::LinearStep& step, const Matrix& y) {
    if (AddFastLinear(x, step, y)) return;
    RequireWide({x, y, At(step.residual)});
    const DeviceMatrix matrix = Find(step.matrix);
    const RowStatistics* const statistics = AddStatistics(x, step.norm_epsilon);
    if (matrix.precision == Precision::kInt8) {
      const int64_t rows = MostRows(x.rows);
      auto* const bytes = Scratch<uint8_t>(rows * matrix.inputs);
      auto* const ranges = Scratch<ByteRange>(rows);
      Add("vitrine_quantize_rows", QuantizeArguments{batch_, x, statistics, bytes, ranges});
      Add("vitrine_linear_int8",
          LinearBytesArguments{batch_, bytes, ranges, matrix.inputs, y, At(step.residual), matrix.int8, matrix.bias,
                               matrix.scale, matrix.sums, step.activation});
      return;
    }
    const bool narrow = matrix.precision == Precision::kBf16;
    const void* const weights = narrow ? static_cast<const void*>(matrix.bf16) : matrix.fp32;
    const LinearArguments arguments = {batch_,     x,       y,           At(step.residual),
                                       statistics, weights, matrix.bias, step.activation};
    if (!narrow && SuitsFastLinear(arguments)) {
      plan_.launches.push_back(FastLinear(name_, arguments));
    } else {
      Add(narrow ? "vitrine_linear_bf16" : "vitrine_linear_fp32", arguments);
    }
  }

  // Sets an error if a matrix is bf16, for kernels that support only fp32.
  void RequireWide(std::initializer_list<Matrix> matrices) {
    for (const Matrix& matrix : matrices) {
      if (matrix.narrow) status_ = absl::InternalError(absl::StrCat(name_, ": a buffer of bf16 has no fast kernel"));
    }
  }

  void Do(const engine::LinearStep& step) { AddLinear(At(step.x), step, At(step.y)); }
  bool AddFastPerceptron(const engine::PerceptronStep& step) {
    PerceptronArguments arguments =
        FastArguments(step, batch_, At(step.first.x), At(step.second.y), At(step.second.residual));
    if (!SuitsFastPerceptron(step, arguments)) return false;
    SetWeights(arguments, Find(step.first.matrix, MatrixLayout::kByOutputs),
               Find(step.second.matrix, MatrixLayout::kByOutputs));
    plan_.launches.push_back(FastPerceptron(name_, arguments));
    return true;
  }
  void Do(const engine::PerceptronStep& step) {
    if (AddFastPerceptron(step)) return;
    const Matrix x = At(step.first.x);
    Matrix hidden = ScratchMatrix(x.rows, step.first.matrix.outputs);
    hidden.narrow = HasNarrowHidden(step) && HasWideRows(x) && HasWideRows(At(step.second.y)) &&
                    HasWideRows(At(step.second.residual));
    AddLinear(x, step.first, hidden);
    AddLinear(hidden, step.second, At(step.second.y));
  }
  void Do(const engine::LayerNormStep& step) {
    Add("vitrine_fast_layer_norm", LayerNormArguments{batch_, At(step.x), At(step.y), static_cast<float>(step.epsilon),
                                                      Copy(step.weight), Copy(step.bias)});
  }
  void RefuseQuickGelu(engine::Activation activation) {
    if (activation != engine::Activation::kQuickGelu) return;
    status_ = absl::UnimplementedError(absl::StrCat(name_, ": the CUDA back end has QuickGELU behind products only"));
  }
  void Do(const engine::AffineStep& step) {
    RefuseQuickGelu(step.activation);
    AddChosen(
        AffineArguments{batch_, At(step.x), At(step.y), nullptr, Copy(step.scale), Copy(step.shift), step.activation});
  }
  void Do(const engine::ActivateStep& step) {
    RefuseQuickGelu(step.activation);
    Add("vitrine_activate", ActivateArguments{batch_, At(step.x), At(step.y), step.activation});
  }
  void Do(const engine::AddStep& step) { AddChosen(AddArguments{batch_, At(step.x), At(step.z), At(step.y)}); }

  // --- rows of tokens, cells and images

  void AddCopy(const Matrix& x, const Matrix& y, CopiedRows rows, int token = 0) {
    AddChosen(CopyArguments{batch_, x, y, rows, token});
  }
  void Do(const engine::ConcatenateStep& step) {
    Matrix y = At(step.y);
    for (const Operand& x : step.x) {
      AddCopy(At(x), y, CopiedRows::kAll);
      if (!measures()) y.data += x.columns;
    }
  }
  void Do(const engine::FillStep& step) { Add("vitrine_fill", FillArguments{batch_, Copy(step.row), At(step.y)}); }
  void Do(const engine::JoinClassStep& step) {
    for (size_t i = 0; i < step.rows.size(); ++i) {
      AddCopy(At(step.rows[i]), At(step.y), CopiedRows::kClass, static_cast<int>(i));
    }
    AddCopy(At(step.cells), At(step.y), CopiedRows::kCells);
  }
  void Do(const engine::TakeClassStep& step) { AddCopy(At(step.x), At(step.y), CopiedRows::kClass, step.token); }
  void Do(const engine::TakeCellsStep& step) { AddCopy(At(step.x), At(step.y), CopiedRows::kCells); }
  void Do(const engine::MeanOfCellsStep& step) {
    Add("vitrine_mean_of_cells", MeanArguments{batch_, At(step.x), At(step.y)});
  }
  void Do(const engine::UnitLengthStep& step) {
    Add("vitrine_unit_length", UnitLengthArguments{batch_, At(step.x), At(step.y), program::kUnitLengthEpsilon});
  }
  void Do(const engine::HandOutStep& step) { AddTap(TapOfTokens(At(step.x), step.stage)); }
  void Do(const engine::CustomStep& step) {
    status_ = absl::UnimplementedError(
        absl::StrCat(name_, ": ", step.custom.function, " is a loop of the family, which runs on the CPU alone"));
  }

  // --- images and positions

  void Do(const engine::PatchifyStep& step) {
    const Matrix y = At(step.y);
    if (y.columns % kWideFloats != 0) RequireWide({y});
    AddChosen(PatchifyArguments{batch_, pixels(), step.patch, y.columns / (step.patch * step.patch), y});
  }
  void Do(const engine::StemStep& step) {
    for (const engine::StemConvolution& layer : step.layers) RefuseQuickGelu(layer.activation);
    StemLaunches stem = MakeStem(step, name_, *this);
    plan_.launches.insert(plan_.launches.end(), stem.launches.begin(), stem.launches.end());
    plan_.stems.push_back(std::move(stem.layers));
  }
  void Do(const engine::AddPositionsStep& step) {
    const Matrix x = At(step.x);
    const Matrix positions = {Hold<float>(MostRows(x.rows) * x.columns), x.columns, x.columns, x.rows};
    plan_.positions.push_back({positions, step.rows});
    AddChosen(AddArguments{batch_, x, positions, At(step.y)});
  }

  // --- attention

  void Do(const engine::AttendStep& step) {
    const program::Attend& attend = step.attend;
    const AttendArguments arguments = {.batch = batch_,
                                       .q = At(step.q),
                                       .k = At(step.k),
                                       .v = At(step.v),
                                       .y = At(step.y),
                                       .heads = attend.heads,
                                       .scale = static_cast<float>(attend.scale),
                                       .offsets = Copy(step.key_offsets),
                                       .known_offsets = static_cast<int>(step.key_offsets.size())};
    AttendArguments tapped = arguments;
    const int64_t at_once = ScoresAtOnce(arguments, MostRows(arguments.k.rows));
    tapped.scores = TapMemory<float>(2 * at_once);
    AddTap(TapOfMaps(tapped, attend.class_query, attend.layer, at_once));
    std::optional<Launch> launch = FastTokens(step, name_, arguments);
    if (!launch) launch = FastQuery(step, name_, arguments);
    if (launch) {
      plan_.launches.push_back(*std::move(launch));
      return;
    }
    RequireWide({arguments.q, arguments.k, arguments.v, arguments.y});
    Add(attend.class_query                   ? "vitrine_attend_class"
        : step.precision == Precision::kFp32 ? "vitrine_attend"
                                             : "vitrine_attend_bf16",
        arguments);
  }

  ChannelArguments OfChannels(Operand q, Operand k, Operand v, Operand y, int heads) {
    ChannelArguments arguments = {};
    arguments.batch = batch_;
    arguments.q = At(q);
    arguments.k = At(k);
    arguments.v = At(v);
    arguments.y = At(y);
    arguments.heads = heads;
    return arguments;
  }
  // Returns how many numbers the matrices of the largest batch have in total.
  int64_t MatrixNumbers(const ChannelArguments& arguments) const {
    const int64_t columns = arguments.q.columns;
    return limits_.images * columns * (columns / arguments.heads);
  }
  void Do(const engine::AttendChannelsStep& step) {
    ChannelArguments arguments = OfChannels(step.q, step.k, step.v, step.y, step.attend.heads);
    arguments.temperature = Copy(step.temperature);
    if (const auto launch = FastChannels(step, name_, arguments)) {
      plan_.launches.push_back(*launch);
      arguments.scores = TapMemory<float>(2 * MatrixNumbers(arguments));
      arguments.matrices = measures() ? nullptr : arguments.scores + MatrixNumbers(arguments);
      AddTap(TapOfFastChannels(*launch, arguments, step.attend.layer));
      return;
    }
    RequireWide({arguments.q, arguments.k, arguments.v, arguments.y});
    arguments.matrices = Scratch<float>(MatrixNumbers(arguments));
    arguments.inverse_q = Scratch<float>(limits_.images * step.q.columns);
    arguments.inverse_k = Scratch<float>(limits_.images * step.q.columns);
    arguments.narrow = step.precision != Precision::kFp32;
    Add("vitrine_inverse_lengths", arguments);
    Add("vitrine_channel_products", arguments);
    Add("vitrine_channel_scale", arguments);
    AddTap(TapOfChannels(arguments, step.attend.layer, /*weights=*/false));
    Add("vitrine_channel_softmax", arguments);
    AddTap(TapOfChannels(arguments, step.attend.layer, /*weights=*/true));
    Add("vitrine_channel_mix", arguments);
  }
  void Do(const engine::AttendLinearlyStep& step) {
    ChannelArguments arguments = OfChannels(step.q, step.k, step.v, step.y, step.attend.heads);
    arguments.matrices = Scratch<float>(MatrixNumbers(arguments));
    arguments.factors = Scratch<float>(MostRows(arguments.q.rows) * arguments.heads);
    arguments.temperature = Copy(step.context_scale);
    arguments.query_scale = Copy(step.query_scale);
    using Norm = program::AttendLinearly::Norm;
    arguments.over_values = step.attend.norm != Norm::kKeys;
    arguments.normalizes = step.attend.norm != Norm::kNone;
    Add("vitrine_context", arguments);
    Add("vitrine_query_factors", arguments);
    AddTap(TapOfFactors(arguments, step.attend, step.context_scale));
    Add("vitrine_context_scale", arguments);
    Add("vitrine_context_mix", arguments);
  }

  // --- convolutions over the grid

  void AddClassTokens(const Matrix& x, const Matrix& y) {
    if (x.rows == RowsOf::kTokens) AddCopy(x, y, CopiedRows::kClass);
    if (x.rows == RowsOf::kTokens && lowered().prefix > 1) {
      status_ = absl::UnimplementedError(absl::StrCat(
          name_, ": the CUDA back end has no convolution over a grid behind ", lowered().prefix, " prefix tokens"));
    }
  }
  DepthwiseArguments ArgumentsOf(const engine::DepthwiseStep& step) {
    return {batch_,
            At(step.x),
            At(step.y),
            At(step.residual),
            Copy(step.weights),
            Copy(step.bias),
            Copy(step.scale),
            Copy(step.shift),
            step.precision != Precision::kFp32};
  }
  void Do(const engine::DepthwiseStep& step) {
    AddChosen(ArgumentsOf(step));
    AddClassTokens(At(step.x), At(step.y));
  }
  void DoLocal(const LocalSteps& steps) {
    LocalArguments arguments = {.first = ArgumentsOf(steps.first),
                                .second = ArgumentsOf(steps.second),
                                .statistics = nullptr,
                                .weight = Copy(steps.norm.weight),
                                .bias = Copy(steps.norm.bias)};
    arguments.first.x = At(steps.norm.x);
    arguments.statistics = AddStatistics(arguments.first.x, static_cast<float>(steps.norm.epsilon));
    AddChosen(arguments);
  }
  void Do(const engine::DenseConvolutionStep& step) {
    const Matrix x = At(step.x), y = At(step.y);
    const Matrix gathered = ScratchMatrix(RowsOf::kCells, step.matrix.inputs);
    AddChosen(GatherArguments{batch_, x, gathered});
    const engine::LinearStep linear = {.x = {}, .y = {}, .activation = step.activation, .matrix = step.matrix};
    if (y.rows == RowsOf::kCells) {
      AddLinear(gathered, linear, y);
    } else {
      const Matrix cells = ScratchMatrix(RowsOf::kCells, y.columns);
      AddLinear(gathered, linear, cells);
      AddCopy(cells, y, CopiedRows::kCells);
    }
    AddClassTokens(x, y);
  }

  const BatchLimits& limits_;
  const Batch batch_;

  LaunchPlan plan_;
  std::string name_;  // name of the step
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::vector<size_t>> MeasureLaunches(const LoweredPlan& lowered, const BatchLimits& limits) {
  std::vector<size_t> sizes;
  LaunchMaker maker(StepMemory(lowered, limits, sizes));
  RETURN_IF_ERROR(maker.Make());
  return sizes;
}

absl::StatusOr<LaunchPlan> MakeLaunches(const LoweredPlan& lowered, const BatchLimits& limits, const BatchMemory& batch,
                                        std::span<std::byte* const> places, DeviceMatrices& matrices) {
  LaunchMaker maker(StepMemory(lowered, limits, places, batch, matrices));
  RETURN_IF_ERROR(maker.Make());
  return maker.Take();
}

}  // namespace vitrine::cuda
