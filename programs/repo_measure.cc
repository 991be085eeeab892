// SPDX-License-Identifier: Apache-2.0
#include "programs/repo_measure.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/workload/conventions.h"
#include "reference/operators/batch_norm.h"
#include "reference/operators/channel_products.h"
#include "reference/operators/convolution_patches.h"
#include "reference/operators/depthwise_convolution.h"
#include "reference/operators/elementwise.h"
#include "reference/operators/gemm.h"
#include "reference/operators/grid_convolution.h"
#include "reference/operators/layer_norm.h"

namespace vitrine {
namespace {

using Clock = std::chrono::steady_clock;
using Run = std::function<void()>;

double SecondsOf(const Run& run) {
  const Clock::time_point start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The shortest of several runs after one to warm up: at least two, until `least_seconds` have passed.
double Shortest(const Run& run, double least_seconds) {
  constexpr int kLeast = 2, kMost = 400;
  run();
  double shortest = std::numeric_limits<double>::infinity(), total = 0;
  for (int runs = 0; runs < kLeast || (total < least_seconds && runs < kMost); ++runs) {
    const double seconds = SecondsOf(run);
    shortest = std::min(shortest, seconds);
    total += seconds;
  }
  return shortest;
}

at::Tensor Random(at::IntArrayRef shape) {
  return at::rand(shape, at::kFloat);
}

// Moves 12 bytes an element; what the cache reads to fill lines that are written is not counted, as is custom.
double TriadGigabytesPerSecond() {
  constexpr int64_t kElements = int64_t{8} << 20;
  std::vector<float> a(kElements, 0), b(kElements, 1), c(kElements, 2);
  const Run triad = [&] {
    at::parallel_for(0, kElements, kElements / (4 * at::get_num_threads()), [&](int64_t begin, int64_t end) {
      float* target = a.data();
      const float *x = b.data(), *y = c.data();
      for (int64_t i = begin; i < end; ++i) target[i] = x[i] + 3.0F * y[i];
    });
  };
  return 12.0 * kElements / Shortest(triad, 0.3) / 1e9;
}

// The best of a few shapes that models have.
double GemmGflops() {
  double best = 0;
  for (const auto& [rows, inner, columns] : {std::array<int64_t, 3>{784, 512, 512}, {1536, 768, 1024}}) {
    const at::Tensor x = Random({rows, inner}), weight = Random({columns, inner});
    const double flops = 2.0 * static_cast<double>(rows * inner * columns);
    best = std::max(best, flops / Shortest([&] { GemmNt(x, weight); }, 0.25) / 1e9);
  }
  return best;
}

// The tokens that a convolution on the grid takes, with the class token where the family has it there.
PackedTokens TokensFor(const Operator& op, int prefix) {
  std::vector<Grid> grids(static_cast<size_t>(op.batch), Grid{op.height, op.width});
  const auto layout = TokenLayout::Make(std::move(grids), prefix);
  return {Random({layout->total_tokens(), op.inner}), layout};
}

Run ConvolutionRun(const Operator& op) {
  const int64_t channels = op.columns;
  if (op.pool > 0) {
    const at::Tensor weight = Random({channels, 3, 3, op.inner}), bias = Random({channels});
    const ImageBatch images(static_cast<size_t>(op.batch), Random({op.inner, op.height, op.width}));
    return [weight, bias, images, pool = op.pool] { ConvolveAndPool(images, weight, bias, pool, {}); };
  }
  if (op.groups > 1) {
    const at::Tensor weight = Random({channels, 1, 3, 3}), bias = Random({channels});
    const PackedTokens x = TokensFor(op, 0);
    if (!op.gelu) return [weight, bias, x] { ConvolveDepthwise(x, weight, bias, {}); };
    const at::Tensor scale = Random({channels}), shift = Random({channels});
    return [weight, bias, scale, shift, x] { ConvolveDepthwiseGelu(x, weight, bias, scale, shift, {}); };
  }
  if (op.part == ModelPart::kBlock) {
    const at::Tensor weight = Random({channels, 3, 3, channels});
    return [weight, x = TokensFor(op, 1)] { ConvolveGrids(x, weight, {}); };
  }
  // Convolutions of pixels keep the channels last.
  const at::Tensor x = Random({op.batch, op.inner, op.height, op.width}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor weight =
      Random({op.columns, op.inner, op.kernel, op.kernel}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor bias = Random({op.columns});
  return [x, weight, bias, op] { at::conv2d(x, weight, bias, op.stride, op.padding); };
}

// Products over the tokens of each head, which lie side by side in a token's row.
Run ChannelRun(const Operator& op, int images) {
  const bool product = op.channels == Operator::Channels::kProduct;
  const int64_t tokens = product ? op.inner : op.rows, heads = op.batch / images, head_width = op.columns;
  const auto layout =
      TokenLayout::Make(std::vector<Grid>(static_cast<size_t>(images), Grid{1, static_cast<int>(tokens)}), 0);
  const at::Tensor a = Random({images * tokens, heads, head_width}), b = Random({images * tokens, heads, head_width});
  if (product) return [a, b, layout] { ChannelProducts(a, b, *layout, {}); };
  const at::Tensor matrices = Random({images, heads, head_width, head_width});
  return [a, matrices, layout] { MixChannels(a, matrices, *layout, {}); };
}

Run ProductRun(const Operator& op, int images) {
  if (op.kind == OperatorKind::kLinear) {
    const at::Tensor x = Random({op.rows, op.inner}), weight = Random({op.columns, op.inner});
    const at::Tensor bias = op.has_bias ? Random({op.columns}) : at::Tensor();
    if (op.gelu) return [x, weight, bias] { AffineGelu(x, weight, bias, /*bf16=*/false); };
    return [x, weight, bias] { AffineMap(x, weight, bias, /*bf16=*/false); };
  }
  if (op.channels != Operator::Channels::kNo) return ChannelRun(op, images);
  if (op.kind == OperatorKind::kMatmul) {
    const at::Tensor a = Random({op.batch, op.rows, op.inner}), b = Random({op.batch, op.inner, op.columns});
    return [a, b] { at::matmul(a, b); };
  }
  // As the heads lie in the result of a projection: [images, tokens, heads, d_h].
  const int64_t heads = op.batch / images;
  const at::Tensor q = Random({images, op.rows, heads, op.inner}).transpose(1, 2);
  const at::Tensor k = Random({images, op.columns, heads, op.inner}).transpose(1, 2);
  const at::Tensor v = Random({images, op.columns, heads, op.inner}).transpose(1, 2);
  return [q, k, v] { at::scaled_dot_product_attention(q, k, v); };
}

Run ElementwiseRun(const Operator& op) {
  const at::Tensor x = Random({op.rows, op.columns}), y = Random({op.rows, op.columns});
  const at::Tensor scale = Random({op.columns}), shift = Random({op.columns});
  switch (op.kind) {
    case OperatorKind::kLayerNorm:
      return [=] { NormalizeLayer(x, scale, shift, 1e-6, {}); };
    case OperatorKind::kBatchNorm:
      return [=] { NormalizeBatch(x, {scale, shift, shift, scale}, {}); };
    case OperatorKind::kNormalize:
      return [=] { x / at::linalg_vector_norm(x, 2, -1, /*keepdim=*/true); };
    case OperatorKind::kSoftmax:
      return [=] { x.softmax(-1); };
    case OperatorKind::kGelu:
      return [=] { Gelu(x, {}); };
    case OperatorKind::kRelu:
      return [=] { at::relu(x); };
    case OperatorKind::kScale:
      return [=] { x* scale; };
    case OperatorKind::kAffine:
      return [=] { at::addcmul(shift, x, scale); };
    case OperatorKind::kScaleAdd:
      return [=] { at::addcmul(x, scale, y); };
    case OperatorKind::kConcatenate: {
      const at::Tensor first = x.narrow(0, 0, 1), rest = op.rows > 1 ? x.narrow(0, 1, op.rows - 1) : x;
      return [=] { at::cat({first, rest}); };
    }
    case OperatorKind::kMean:
      return [=] { x.mean(0); };
    case OperatorKind::kCustom:  // a program's own loops are not at hand: what it takes to move the values
      return [=] { x.clone(); };
    default:
      return [=] { x + y; };
  }
}

Run RunOf(const Operator& op, int images) {
  switch (op.kind) {
    case OperatorKind::kLinear:
    case OperatorKind::kMatmul:
    case OperatorKind::kAttention:
      return ProductRun(op, images);
    case OperatorKind::kConvolution:
      return ConvolutionRun(op);
    default:
      return ElementwiseRun(op);
  }
}

// Operators of equal keys run the same code on equal sizes.
std::string KeyOf(const Operator& op) {
  return absl::StrCat(std::string(KindName(op.kind)), " ", ShapeInWords(op), " ", op.has_bias, op.gelu, " ", op.pool,
                      " ", static_cast<int>(op.channels));
}

void Raise(MachinePeaks& peaks, const MachinePeaks& again) {
  peaks.gflops = std::max(peaks.gflops, again.gflops);
  peaks.gigabytes_per_second = std::max(peaks.gigabytes_per_second, again.gigabytes_per_second);
  peaks.threads = again.threads;
}

// An operator that does more than the products shows that the machine can.
void RaiseTo(const std::vector<Operator>& operators, const std::vector<double>& seconds, MachinePeaks& peaks) {
  for (size_t i = 0; i < operators.size(); ++i) {
    const double gflops = static_cast<double>(FlopsOf(operators[i])) / seconds[i] / 1e9;
    if (gflops <= peaks.gflops) continue;
    peaks.gflops = gflops;
    peaks.peak_of = operators[i].name;
  }
}

// The shortest times so far of a forward pass and its distinct operators.
class ForwardTimer {
 public:
  ForwardTimer(const Model& model, const WorkloadInput& input, const std::vector<Operator>& operators)
      : model_(model),
        images_(static_cast<size_t>(input.images),
                Random({model.config().preprocessing().channels(), input.height, input.width})),
        operators_(operators) {}

  absl::Status Round() {
    RETURN_IF_ERROR(RunModel(model_, images_).status());
    whole_ = std::min(whole_, Shortest([&] { static_cast<void>(RunModel(model_, images_)); }, 0.07));
    std::set<std::string> met;
    for (const Operator& op : operators_) {
      const std::string key = KeyOf(op);
      if (!met.insert(key).second) continue;
      try {
        // Made anew in each round: the operands of all at once may not fit the memory.
        const double seconds = Shortest(RunOf(op, static_cast<int>(images_.size())), 0.01);
        const auto [at, fresh] = shortest_.emplace(key, seconds);
        at->second = std::min(at->second, seconds);
      } catch (const std::exception& error) {
        return absl::InternalError(absl::StrCat(op.name, " cannot be measured: ", error.what()));
      }
    }
    return absl::OkStatus();
  }

  double sum() const {
    double sum = whole_;
    for (const auto& [key, seconds] : shortest_) sum += seconds;
    return sum;
  }

  ForwardTimes times() const {
    ForwardTimes times{.operators = {}, .whole = whole_};
    for (const Operator& op : operators_) times.operators.push_back(shortest_.at(KeyOf(op)));
    return times;
  }

 private:
  const Model& model_;
  const ImageBatch images_;
  const std::vector<Operator>& operators_;
  double whole_ = std::numeric_limits<double>::infinity();
  std::map<std::string, double> shortest_;
};

}  // namespace

double MachinePeaks::Bound(double flops, double bytes) const {
  return std::max(flops / (gflops * 1e9), bytes / (gigabytes_per_second * 1e9));
}

MachinePeaks MeasurePeaks() {
  const at::NoGradGuard no_grad;
  return {.gflops = GemmGflops(), .gigabytes_per_second = TriadGigabytesPerSecond(), .threads = at::get_num_threads()};
}

absl::StatusOr<Measurement> MeasureForward(const Model& model, const WorkloadInput& input,
                                           const std::vector<Operator>& operators) {
  const at::NoGradGuard no_grad;
  Measurement measured;
  ForwardTimer timer(model, input, operators);
  absl::Status status;
  measured.rounds = UntilSteady([&] {
    if (!status.ok()) return 0.0;
    Raise(measured.peaks, MeasurePeaks());
    status = timer.Round();
    return timer.sum();
  });
  RETURN_IF_ERROR(status);
  measured.forward = timer.times();
  RaiseTo(operators, measured.forward.operators, measured.peaks);
  return measured;
}

}  // namespace vitrine
