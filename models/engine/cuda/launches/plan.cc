// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/launches/plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/engine/cuda/launches/fast_attention.h"
#include "models/engine/cuda/launches/fast_grid.h"
#include "models/engine/cuda/launches/taps.h"

namespace vitrine::cuda {
namespace {

using engine::LoweredPlan;
using engine::Operand;

constexpr size_t kAlignment = 256;  // bytes, for a step's scratch memory

// Makes launches of steps. Runs twice: without memory, to learn how much scratch a step needs at most, then with it.
class LaunchMaker {
 public:
  LaunchMaker(const LoweredPlan& lowered, const BatchLimits& limits, const BatchMemory& batch, DeviceMatrices& matrices,
              Buffers& buffers, bool fast, std::byte* scratch)
      : lowered_(lowered),
        limits_(limits),
        memory_(batch),
        batch_{batch.counts, batch.images},
        matrices_(matrices),
        buffers_(buffers),
        fast_(fast),
        scratch_(scratch) {
    if (measures()) return;
    for (const engine::Slot& slot : lowered.slots) {
      slots_.push_back(buffers.Allocate<float>(static_cast<size_t>(MostRows(slot.rows) * slot.width)));
    }
  }

  absl::Status Make() {
    for (const engine::PlanStep& step : lowered_.steps) {
      name_ = step.name;
      used_ = 0;
      std::visit([this](const auto& settings) { Do(settings); }, step.settings);
      RETURN_IF_ERROR(status_);
      most_used_ = std::max(most_used_, used_);
    }
    plan_.logits = At(lowered_.logits);
    plan_.cell = lowered_.cell;
    plan_.classes = lowered_.classes;
    return absl::OkStatus();
  }

  size_t scratch_bytes() const { return most_used_; }
  LaunchPlan Take() { return std::move(plan_); }

 private:
  bool measures() const { return scratch_ == nullptr; }

  int64_t MostRows(RowsOf rows) const {
    if (rows == RowsOf::kImages) return limits_.images;
    return limits_.cells + (rows == RowsOf::kTokens ? limits_.images : 0);
  }

  Matrix At(Operand operand) const {
    const engine::Buffer& buffer = lowered_.buffers[static_cast<size_t>(operand.buffer)];
    float* const data = measures() ? nullptr : slots_[static_cast<size_t>(buffer.slot)] + operand.first;
    return {data, buffer.width, static_cast<int>(operand.columns), buffer.rows};
  }
  Matrix At(const std::optional<Operand>& operand) const { return operand ? At(*operand) : Matrix(); }

  // Returns memory that lasts until the end of the step.
  template <class T>
  T* Scratch(int64_t count) {
    T* const place = measures() ? nullptr : reinterpret_cast<T*>(scratch_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }
  Matrix ScratchMatrix(RowsOf rows, int64_t columns) {
    return {Scratch<float>(MostRows(rows) * columns), columns, static_cast<int>(columns), rows};
  }
  template <class T>
  const T* Copy(const std::vector<T>& values) {
    return measures() ? nullptr : buffers_.Copy(values);
  }
  DeviceMatrix Find(const engine::FoldedMatrix& matrix, bool as_floats = false) {
    if (!measures()) return matrices_.Find(matrix, as_floats);
    return {.precision = matrix.precision,
            .inputs = static_cast<int>(matrix.inputs),
            .outputs = static_cast<int>(matrix.outputs)};
  }

  template <class Arguments>
  void Add(const char* kernel, const Arguments& arguments) {
    plan_.launches.push_back(MakeLaunch(name_, kernel, arguments));
  }
  template <class Arguments>
  void AddChosen(const Arguments& arguments) {
    const KernelChoice choice = Choose(arguments, fast_);
    Launch launch = MakeLaunch(name_, choice.kernel, arguments);
    launch.threads = choice.threads;
    launch.shared_bytes = choice.shared_bytes;
    plan_.launches.push_back(std::move(launch));
  }
  void AddTap(std::function<absl::Status(Device&, const BatchRows&, const Taps&)> take) {
    plan_.taps.push_back({plan_.launches.size(), std::move(take)});
  }

  // --- each row by itself

  const RowStatistics* AddStatistics(const Matrix& x, std::optional<float> epsilon) {
    if (!epsilon) return nullptr;
    auto* const statistics = Scratch<RowStatistics>(MostRows(x.rows));
    AddChosen(StatisticsArguments{batch_, x, *epsilon, statistics});
    return statistics;
  }

  void AddLinear(const Matrix& x, const engine::LinearStep& step, const Matrix& y) {
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
    Add(narrow ? "vitrine_linear_bf16" : "vitrine_linear_fp32",
        LinearArguments{batch_, x, y, At(step.residual), statistics, weights, matrix.bias, step.activation});
  }

  void Do(const engine::LinearStep& step) { AddLinear(At(step.x), step, At(step.y)); }
  void Do(const engine::PerceptronStep& step) {
    const Matrix x = At(step.first.x), hidden = ScratchMatrix(x.rows, step.first.matrix.outputs);
    AddLinear(x, step.first, hidden);
    AddLinear(hidden, step.second, At(step.second.y));
  }
  void Do(const engine::LayerNormStep& step) {
    const Matrix x = At(step.x), y = At(step.y);
    const auto epsilon = static_cast<float>(step.epsilon);
    const float *const weight = Copy(step.weight), *const bias = Copy(step.bias);
    if (fast_) {
      Add("vitrine_fast_layer_norm", LayerNormArguments{batch_, x, y, epsilon, weight, bias});
    } else {
      const RowStatistics* const statistics = AddStatistics(x, epsilon);
      Add("vitrine_affine", AffineArguments{batch_, x, y, statistics, weight, bias, Activation::kNone});
    }
  }
  void Do(const engine::AffineStep& step) {
    AddChosen(
        AffineArguments{batch_, At(step.x), At(step.y), nullptr, Copy(step.scale), Copy(step.shift), step.activation});
  }
  void Do(const engine::ActivateStep& step) {
    AddChosen(ActivateArguments{batch_, At(step.x), At(step.y), step.activation});
  }
  void Do(const engine::AddStep& step) { AddChosen(AddArguments{batch_, At(step.x), At(step.z), At(step.y)}); }

  // --- rows of tokens, cells and images

  void AddCopy(const Matrix& x, const Matrix& y, CopiedRows rows) { AddChosen(CopyArguments{batch_, x, y, rows}); }
  void Do(const engine::ConcatenateStep& step) {
    Matrix y = At(step.y);
    for (const Operand& x : step.x) {
      AddCopy(At(x), y, CopiedRows::kAll);
      if (!measures()) y.data += x.columns;
    }
  }
  void Do(const engine::FillStep& step) { AddChosen(FillArguments{batch_, Copy(step.row), At(step.y)}); }
  void Do(const engine::JoinClassStep& step) {
    AddCopy(At(step.rows), At(step.y), CopiedRows::kClass);
    AddCopy(At(step.cells), At(step.y), CopiedRows::kCells);
  }
  void Do(const engine::TakeClassStep& step) { AddCopy(At(step.x), At(step.y), CopiedRows::kClass); }
  void Do(const engine::TakeCellsStep& step) { AddCopy(At(step.x), At(step.y), CopiedRows::kCells); }
  void Do(const engine::MeanOfCellsStep& step) { AddChosen(MeanArguments{batch_, At(step.x), At(step.y)}); }
  void Do(const engine::HandOutStep& step) { AddTap(TapOfTokens(At(step.x), step.stage)); }
  void Do(const engine::CustomStep& step) {
    status_ = absl::UnimplementedError(
        absl::StrCat(name_, ": ", step.custom.function, " is a loop of the family, which runs on the CPU alone"));
  }

  // --- images and positions

  void Do(const engine::PatchifyStep& step) {
    const Matrix y = At(step.y);
    Add("vitrine_patchify",
        PatchifyArguments{batch_, memory_.pixels, step.patch, y.columns / (step.patch * step.patch), y});
  }
  void Do(const engine::StemStep& step) {
    std::vector<LaunchPlan::StemLayer> layers;
    const float* x = memory_.pixels;
    const MapRows* from = nullptr;
    const Matrix cells = At(step.y);
    const bool narrow = step.layers[0].matrix.precision == Precision::kBf16;
    int64_t side = 1;  // pixels of a place
    for (const engine::StemConvolution& layer : step.layers) {
      const DeviceMatrix matrix = Find(layer.matrix, /*as_floats=*/true);
      const program::Convolve& convolve = layer.convolve;
      const bool is_last = &layer == &step.layers.back();
      side *= convolve.stride * std::max(1, convolve.pool);
      LaunchPlan::StemLayer places = {.convolve = convolve};
      // Places at the borders come on top; a pass checks that its images fit.
      places.most_places = is_last ? limits_.cells : 2 * limits_.pixels / (side * side) + int64_t{64} * limits_.images;
      places.places = measures() ? nullptr : buffers_.Allocate<MapRows>(static_cast<size_t>(limits_.images) + 1);
      float* const y = is_last ? cells.data : Scratch<float>(places.most_places * matrix.outputs);
      Add("vitrine_convolve", ConvolveArguments{.batch = batch_,
                                                .x = x,
                                                .from = from,
                                                .to = places.places,
                                                .y = y,
                                                .y_stride = is_last ? cells.stride : matrix.outputs,
                                                .weights = matrix.fp32,
                                                .bias = matrix.bias,
                                                .channels = matrix.inputs / (convolve.kernel * convolve.kernel),
                                                .outputs = matrix.outputs,
                                                .kernel = convolve.kernel,
                                                .stride = convolve.stride,
                                                .padding = convolve.padding,
                                                .pool = convolve.pool,
                                                .cut = std::max(1, convolve.cut),
                                                .activation = layer.activation,
                                                .narrow = narrow,
                                                .rounds = narrow && !is_last});
      layers.push_back(places);
      x = y;
      from = places.places;
    }
    plan_.stems.push_back(std::move(layers));
  }
  void Do(const engine::AddPositionsStep& step) {
    const Matrix x = At(step.x);
    Matrix positions = {nullptr, x.columns, x.columns, x.rows};
    if (!measures()) positions.data = buffers_.Allocate<float>(static_cast<size_t>(MostRows(x.rows) * x.columns));
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
    AddTap(TapOfMaps(arguments, attend.class_query, attend.layer));
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
  float* ScratchMatrices(const ChannelArguments& arguments) {
    const int64_t columns = arguments.q.columns;
    return Scratch<float>(limits_.images * columns * (columns / arguments.heads));
  }
  void Do(const engine::AttendChannelsStep& step) {
    ChannelArguments arguments = OfChannels(step.q, step.k, step.v, step.y, step.attend.heads);
    arguments.temperature = Copy(step.temperature);
    if (const auto launch = fast_ ? FastChannels(lowered_, step, name_, arguments) : std::nullopt) {
      plan_.launches.push_back(*launch);
      AddTap(TapOfFastChannels(*launch, arguments, step.attend.layer));
      return;
    }
    arguments.matrices = ScratchMatrices(arguments);
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
    arguments.matrices = ScratchMatrices(arguments);
    arguments.factors = Scratch<float>(MostRows(arguments.q.rows) * arguments.heads);
    arguments.temperature = Copy(step.context_scale);
    arguments.query_scale = Copy(step.query_scale);
    arguments.over_values = step.attend.over_values;
    Add("vitrine_context", arguments);
    Add("vitrine_query_factors", arguments);
    AddTap(TapOfFactors(arguments, step.attend, step.context_scale));
    Add("vitrine_context_scale", arguments);
    Add("vitrine_context_mix", arguments);
  }

  // --- convolutions over the grid

  void AddClassTokens(const Matrix& x, const Matrix& y) {
    if (x.rows == RowsOf::kTokens) AddCopy(x, y, CopiedRows::kClass);
  }
  void Do(const engine::DepthwiseStep& step) {
    const Matrix x = At(step.x), y = At(step.y);
    Add("vitrine_depthwise",
        DepthwiseArguments{batch_, x, y, At(step.residual), Copy(step.weights), Copy(step.bias), Copy(step.scale),
                           Copy(step.shift), step.precision != Precision::kFp32});
    AddClassTokens(x, y);
  }
  void Do(const engine::DenseConvolutionStep& step) {
    const Matrix x = At(step.x), y = At(step.y);
    const Matrix gathered = ScratchMatrix(RowsOf::kCells, step.matrix.inputs);
    Add("vitrine_gather_neighbours", GatherArguments{batch_, x, gathered});
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

  const LoweredPlan& lowered_;
  const BatchLimits& limits_;
  const BatchMemory& memory_;
  const Batch batch_;
  DeviceMatrices& matrices_;
  Buffers& buffers_;
  const bool fast_;
  std::byte* const scratch_;
  std::vector<float*> slots_;

  LaunchPlan plan_;
  std::string name_;  // of the step
  size_t used_ = 0, most_used_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<LaunchPlan> MakeLaunches(const LoweredPlan& lowered, const BatchLimits& limits, const BatchMemory& batch,
                                        DeviceMatrices& matrices, Buffers& buffers, bool fast) {
  LaunchMaker measures(lowered, limits, batch, matrices, buffers, fast, nullptr);
  RETURN_IF_ERROR(measures.Make());
  std::byte* const scratch = buffers.Allocate<std::byte>(std::max(measures.scratch_bytes(), kAlignment));
  RETURN_IF_ERROR(buffers.status());
  LaunchMaker maker(lowered, limits, batch, matrices, buffers, fast, scratch);
  RETURN_IF_ERROR(buffers.status());
  RETURN_IF_ERROR(maker.Make());
  RETURN_IF_ERROR(buffers.status());
  return maker.Take();
}

}  // namespace vitrine::cuda
