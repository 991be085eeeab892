// SPDX-License-Identifier: Apache-2.0
#include "models/workload/of_program.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/program/demand.h"
#include "models/program/readers.h"
#include "models/workload/builder.h"

namespace vitrine {
namespace {

namespace ir = program;
using workload::Builder;

class Expansion {
 public:
  Expansion(const ir::Program& program, const WorkloadInput& input, Form form)
      : program_(program),
        published_(form == Form::kPublished),
        builder_(input.images, Grid{input.height / program.cell(), input.width / program.cell()},
                 program.prefix_tokens()),
        demands_(ir::DemandOf(program, ir::ResultsOfRun(program))),
        sizes_(ir::MapSizesOf(program, {input.height, input.width})),
        producers_(static_cast<size_t>(program.values()), nullptr),
        readers_(program) {
    for (const ir::Operator& op : program.operators()) {
      producers_[At(op.output)] = &op;
    }
  }

  Workload Run() {
    for (const ir::Operator& op : program_.operators()) {
      const bool is_dead = !published_ && demands_[At(op.output)] == ir::Demand::kNone;
      if (is_dead || done_.contains(&op)) continue;
      builder_.Enter(op.part);
      std::visit([&](const auto& settings) { Expand(op, settings); }, op.settings);
    }
    return builder_.Take();
  }

  // Returns the multiply-adds of each operator in Form::kPublished, which expands every operator separately.
  std::vector<int64_t> Macs() {
    std::vector<int64_t> macs;
    for (const ir::Operator& op : program_.operators()) {
      std::visit([&](const auto& settings) { Expand(op, settings); }, op.settings);
      int64_t sum = 0;
      for (const Operator& listed : builder_.Take()) sum += listed.macs;
      const ir::Linear* linear = op.As<ir::Linear>();
      const bool shares = linear != nullptr && linear->together == 0;
      if (linear != nullptr && linear->together > 1) sum /= linear->together;
      macs.push_back(shares ? macs.back() : sum);
    }
    return macs;
  }

 private:
  static size_t At(ir::Value value) { return static_cast<size_t>(value.id); }

  // --- sizes

  int64_t RowsOf(ir::Value value, ir::Demand demand) const {
    const int64_t images = builder_.images();
    const ir::MapSize map = sizes_[At(value)];
    switch (program_.info(value).kind) {
      case ir::ValueKind::kMap:
        return images * map.height * map.width;
      case ir::ValueKind::kRows:
        return images;
      case ir::ValueKind::kCells:
        return builder_.cells();
      case ir::ValueKind::kTokens:
        break;
    }
    if (demand == ir::Demand::kHeads) return 2 * images;  // the class token and the distillation token
    return demand == ir::Demand::kClass ? images : builder_.tokens();
  }
  // Returns the number of rows that `op` computes; in Form::kPublished, these are all rows.
  int64_t Rows(const ir::Operator& op) const {
    return RowsOf(op.output, published_ ? ir::Demand::kAll : demands_[At(op.output)]);
  }
  int64_t Columns(ir::Value value) const { return program_.info(value).columns; }
  int64_t Columns(const ir::Operator& op) const { return Columns(op.output); }
  int64_t TokensPerImage(ir::Value value) const { return RowsOf(value, ir::Demand::kAll) / builder_.images(); }

  // --- parameters

  // Counts the elements of the trained weights of `op`, except weights already counted for an earlier operator.
  int64_t Own(const ir::Operator& op) {
    int64_t count = 0;
    for (const int weight : op.weights) {
      const ir::Weight& which = program_.weights()[static_cast<size_t>(weight)];
      if (which.trained && counted_.emplace(weight, 0).second) count += which.elements();
    }
    return count;
  }
  // Counts like Own, but only the rows of a weight that `linear` uses.
  int64_t OwnRows(const ir::Operator& op, const ir::Linear& linear) {
    int64_t count = 0;
    for (const int weight : op.weights) {
      const ir::Weight& which = program_.weights()[static_cast<size_t>(weight)];
      if (!counted_.emplace(weight, linear.first_row).second) continue;
      count += which.elements() / which.shape[0] * linear.outputs;
    }
    return count;
  }

  // --- from images to tokens

  Builder::Convolved Sizes(const ir::Operator& op, const ir::Convolve& convolve) const {
    const ir::MapSize size = sizes_[At(op.inputs[0])];
    return {.inputs = Columns(op.inputs[0]),
            .outputs = Columns(op),
            .height = size.height / convolve.cut * convolve.cut,
            .width = size.width / convolve.cut * convolve.cut,
            .kernel = convolve.kernel,
            .stride = convolve.stride,
            .padding = convolve.padding,
            .bias = op.weights.size() > 1};
  }

  void Expand(const ir::Operator& op, const ir::Convolve& convolve) {
    Builder::Convolved sizes = Sizes(op, convolve);
    if (convolve.pool > 0) return ConvolveAndPool(op, convolve, sizes);
    Operator& listed = builder_.Convolution(op.name, sizes);
    listed.parameters = Own(op);
    const ir::Operator* norm = published_ ? nullptr : readers_.After<ir::BatchNorm>(&op);
    if (norm == nullptr) return;
    listed.has_bias = true;  // BatchNorm is folded in, but its parameters still count
    listed.parameters += Own(*norm);
    done_.insert(norm);
  }

  // Lists the convolution and its pool. Form::kExecuted pools during the convolution and skips pixels beyond the last
  // whole cell.
  void ConvolveAndPool(const ir::Operator& op, const ir::Convolve& convolve, Builder::Convolved sizes) {
    if (published_) {
      builder_.Convolution(op.name + ".convolution", sizes).parameters = Own(op);
      builder_.Pool(op.name + ".pool", sizes.outputs, sizes.height, sizes.width, convolve.pool);
      return;
    }
    sizes.height = sizes_[At(op.output)].height * convolve.pool;
    sizes.width = sizes_[At(op.output)].width * convolve.pool;
    Operator& listed = builder_.Convolution(op.name + ".convolution_pool", sizes);
    listed.parameters = Own(op);
    listed.pool = convolve.pool;
    listed.bytes_written /= int64_t{convolve.pool} * convolve.pool;
  }

  void Expand(const ir::Operator& op, const ir::TablePosition& position) {
    if (!published_ && builder_.grid() != position.grid) {
      builder_.Matmul(op.name + ".interpolation", 1, builder_.grid().cells(), position.grid.cells(), Columns(op));
    }
    builder_.Add(op.name, Rows(op), Columns(op)).parameters = Own(op);
  }

  // Lists the Fourier encoding of positions. Form::kExecuted computes it once for the batch, because it depends only on
  // the grid.
  void Expand(const ir::Operator& op, const ir::FourierPosition&) {
    const int64_t rows = published_ ? builder_.cells() : builder_.grid().cells();
    builder_.Linear(op.name + ".projection", rows, ir::kFourierFeatures, Columns(op)).parameters = Own(op);
    builder_.Add(op.name, Rows(op), Columns(op));
  }

  // Counts the parameters of the prefix tokens that `join` reads.
  int64_t OfPrefix(const ir::Operator& join) {
    int64_t count = 0;
    for (size_t i = 0; i + 1 < join.inputs.size(); ++i) count += Own(*producers_[At(join.inputs[i])]);
    return count;
  }

  // In Form::kPublished, lists only the first join, as the papers do.
  void Expand(const ir::Operator& op, const ir::JoinClass&) {
    const ir::Operator* rows = producers_[At(op.inputs[0])];
    const bool first = rows != nullptr && rows->As<ir::ClassToken>() != nullptr;
    if (!first && (published_ || demands_[At(op.output)] != ir::Demand::kAll)) return;
    builder_.Elementwise(OperatorKind::kConcatenate, first ? rows->name : op.name, builder_.tokens(), Columns(op),
                         first ? OfPrefix(op) : 0);
  }

  // --- operators on single rows

  void Expand(const ir::Operator& op, const ir::LayerNorm&) {
    builder_.LayerNorm(op.name, Rows(op), Columns(op)).parameters = Own(op);
  }
  void Expand(const ir::Operator& op, const ir::BatchNorm&) {
    builder_.Elementwise(OperatorKind::kBatchNorm, op.name, Rows(op), Columns(op), Own(op));
  }
  void Expand(const ir::Operator& op, const ir::Affine&) {
    builder_.Elementwise(OperatorKind::kAffine, op.name, Rows(op), Columns(op), Own(op));
  }

  void Expand(const ir::Operator& op, const ir::Linear& linear) {
    if (linear.code >= 0 && !published_) return ExpandCode(op, linear);
    if (published_ && linear.together != 1) return ExpandTogether(op, linear);
    Operator& listed = builder_.Linear(op.name, Rows(op), linear.inputs, linear.outputs, linear.bias);
    listed.parameters = linear.code < 0 ? OwnRows(op, linear) : Own(op);
    const ir::Operator* gelu = published_ ? nullptr : readers_.GeluAfter(&op);
    if (gelu == nullptr) return;
    listed.gelu = true;
    done_.insert(gelu);
  }

  // Lists layers that the paper's code computes as one product (Linear::together) as one operator, under the name of
  // the first layer.
  void ExpandTogether(const ir::Operator& first, const ir::Linear& linear) {
    if (linear.together == 0) return;
    Operator& listed = builder_.Linear(first.name, Rows(first), linear.inputs, linear.together * linear.outputs);
    listed.parameters = 0;
    for (const ir::Operator* op = &first; op != &first + linear.together; ++op) listed.parameters += Own(*op);
  }

  // Lists W [x, code] = W_x x + W_c code. Form::kExecuted computes W_x x once for all codes of the same x.
  void ExpandCode(const ir::Operator& op, const ir::Linear& linear) {
    const int64_t code = program_.weights()[static_cast<size_t>(op.weights.back())].shape[1];
    const std::vector<int> own = {op.weights.begin(), op.weights.end() - 1};
    if (products_.emplace(At(op.inputs[0]), own[0]).second) {
      ir::Operator product = op;
      product.weights = own;
      builder_.Linear(op.name + ".tokens", Rows(op), linear.inputs - code, linear.outputs).parameters = Own(product);
    }
    builder_.Linear(op.name + ".code", 1, code, linear.outputs, /*bias=*/false).parameters = Own(op);
    builder_.Add(op.name + ".add", Rows(op), linear.outputs);
  }

  void Expand(const ir::Operator& op, const ir::Activate& activate) {
    if (activate.function != ir::Activate::Function::kRelu) {
      builder_.Gelu(op.name, Rows(op), Columns(op));
    } else {
      builder_.Elementwise(OperatorKind::kRelu, op.name, Rows(op), Columns(op));
    }
  }

  void Expand(const ir::Operator& op, const ir::Residual&) {
    const int64_t scale = Own(op);
    if (op.weights.empty()) {
      builder_.Add(op.name, Rows(op), Columns(op));
    } else if (published_) {
      builder_.Elementwise(OperatorKind::kScale, op.name + ".scale", Rows(op), Columns(op), scale);
      builder_.Add(op.name, Rows(op), Columns(op));
    } else {
      builder_.Elementwise(OperatorKind::kScaleAdd, op.name, Rows(op), Columns(op), scale);
    }
  }

  void Expand(const ir::Operator& op, const ir::Concatenate&) {
    builder_.Elementwise(OperatorKind::kConcatenate, op.name, Rows(op), Columns(op));
  }
  void Expand(const ir::Operator& op, const ir::Add&) { builder_.Add(op.name, Rows(op), Columns(op)); }

  // --- attention and grid convolutions

  void Expand(const ir::Operator& op, const ir::MeanTokens&) {
    Operator& listed = builder_.Elementwise(OperatorKind::kMean, op.name, builder_.cells(), Columns(op));
    listed.bytes_written = listed.bytes_written / builder_.cells() * builder_.images();
  }
  void Expand(const ir::Operator& op, const ir::UnitLength&) {
    builder_.Elementwise(OperatorKind::kScale, op.name, Rows(op), Columns(op));
  }
  void Expand(const ir::Operator& op, const ir::Custom&) {
    builder_.Elementwise(OperatorKind::kCustom, op.name, Rows(op), Columns(op));
  }

  void Expand(const ir::Operator& op, const ir::Attend& attend) {
    const int64_t keys = TokensPerImage(op.inputs.back()), queries = attend.class_query ? 1 : keys;
    const int64_t head_width = Columns(op) / attend.heads, batch = builder_.images() * attend.heads;
    if (!op.weights.empty()) {
      // The paper's code applies a linear layer to the sums of each score and its positional channels. All counts are
      // for a cheaper computation with the same result: one scale of the logits and one offset per key
      // (map_position.h).
      builder_.Elementwise(OperatorKind::kAffine, op.name + ".map", batch * queries, keys, Own(op));
    }
    if (!published_) {
      builder_.Attention(op.name, attend.heads, queries, keys, head_width);
      return;
    }
    builder_.Matmul(op.name + ".scores", batch, queries, head_width, keys);
    builder_.Elementwise(OperatorKind::kScale, op.name + ".scale", batch * queries, keys);
    builder_.Elementwise(OperatorKind::kSoftmax, op.name + ".softmax", batch * queries, keys);
    builder_.Matmul(op.name + ".values", batch, queries, keys, head_width);
  }

  // Sums over the tokens give d_h x d_h products, so the multiply-adds are linear in the number of tokens.
  void Expand(const ir::Operator& op, const ir::AttendChannels& attend) {
    const int64_t width = Columns(op), head_width = width / attend.heads;
    const int64_t rows = builder_.images() * attend.heads * head_width;
    builder_.Elementwise(OperatorKind::kNormalize, op.name + ".normalize", 2 * builder_.cells(), width);
    builder_.ChannelProduct(op.name + ".scores", attend.heads, builder_.grid().cells(), head_width);
    builder_.Elementwise(OperatorKind::kScale, op.name + ".temperature", rows, head_width, Own(op));
    builder_.Elementwise(OperatorKind::kSoftmax, op.name + ".softmax", rows, head_width);
    builder_.MixChannels(op.name + ".values", attend.heads, builder_.grid().cells(), head_width);
  }

  // Lists K^T V, d_h x d_h, and its product with every query. So the multiply-adds are linear in the number of tokens.
  void Expand(const ir::Operator& op, const ir::AttendLinearly& attend) {
    const int64_t keys = TokensPerImage(op.inputs.back()), queries = attend.class_query ? 1 : keys;
    const int64_t width = Columns(op), head_width = width / attend.heads;
    const int64_t scales = Own(op) / 2;  // number of scales of the queries, and also of the context
    builder_.ChannelProduct(op.name + ".context", attend.heads, keys, head_width);
    const bool normalizes = attend.norm != ir::AttendLinearly::Norm::kNone;
    const OperatorKind kind = normalizes ? OperatorKind::kNormalize : OperatorKind::kScale;
    const std::string factor = op.name + (normalizes ? ".normalize_" : ".scale_");
    builder_.Elementwise(kind, factor + "queries", builder_.images() * queries, width, scales);
    builder_.Elementwise(kind, factor + "context", builder_.images() * attend.heads * head_width, head_width, scales);
    builder_.MixChannels(op.name + ".values", attend.heads, queries, head_width);
  }

  void Expand(const ir::Operator& op, const ir::ConvolveGrid& convolve) {
    const int64_t channels = Columns(op);
    Operator& listed = builder_.GridConvolution(
        op.name, channels, channels, convolve.depthwise ? static_cast<int>(channels) : 1, convolve.depthwise);
    listed.parameters = Own(op);
    const ir::Operator* gelu = published_ || !convolve.depthwise ? nullptr : readers_.GeluAfter(&op);
    const ir::Operator* norm = gelu == nullptr ? nullptr : readers_.After<ir::BatchNorm>(gelu);
    if (norm == nullptr) return;
    listed.gelu = true;
    listed.batch_norm = true;
    listed.parameters += Own(*norm);
    done_.insert({gelu, norm});
  }

  // --- views: no cost

  void Expand(const ir::Operator&, const ir::ToTokens&) {}
  void Expand(const ir::Operator&, const ir::Patchify&) {}
  void Expand(const ir::Operator&, const ir::ClassToken&) {}
  void Expand(const ir::Operator&, const ir::TakeClass&) {}
  void Expand(const ir::Operator&, const ir::TakeCells&) {}
  void Expand(const ir::Operator&, const ir::Columns&) {}
  void Expand(const ir::Operator&, const ir::Drop&) {}
  void Expand(const ir::Operator&, const ir::Constant&) {}

  const ir::Program& program_;
  const bool published_;
  Builder builder_;
  const std::vector<ir::Demand> demands_;
  const std::vector<ir::MapSize> sizes_;
  std::vector<const ir::Operator*> producers_;  // by value
  const ir::SingleReaderIndex readers_;
  std::set<const ir::Operator*> done_;         // operators listed as part of an earlier operator
  std::set<std::pair<int, int64_t>> counted_;  // counted weights, with the first counted row
  std::set<std::pair<size_t, int>> products_;  // computed products of F-SNE's first layer, by input and weight
};

}  // namespace

Workload WorkloadOf(const program::Program& program, const WorkloadInput& input, Form form) {
  if (program.cell() == 0) return {};
  return Expansion(program, input, form).Run();
}

std::vector<int64_t> PublishedMacsOf(const program::Program& program, const WorkloadInput& input) {
  if (program.cell() == 0) return std::vector<int64_t>(program.operators().size(), 0);
  return Expansion(program, input, Form::kPublished).Macs();
}

}  // namespace vitrine
