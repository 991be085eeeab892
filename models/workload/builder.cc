// SPDX-License-Identifier: Apache-2.0
#include "models/workload/builder.h"

namespace vitrine::workload {
namespace {

constexpr int64_t kValueBytes = 4;

void SetTraffic(Operator& op, int64_t values_read, int64_t values_written) {
  op.bytes_read = kValueBytes * values_read;
  op.bytes_written = kValueBytes * values_written;
}

}  // namespace

Operator& Builder::Append(OperatorKind kind, std::string name) {
  Operator& op = operators_.emplace_back();
  op.name = prefix_ + std::move(name);
  op.kind = kind;
  op.part = part_;
  return op;
}

Operator& Builder::Linear(std::string name, int64_t rows, int64_t inputs, int64_t outputs, bool bias) {
  Operator& op = Append(OperatorKind::kLinear, std::move(name));
  op.rows = rows;
  op.inner = inputs;
  op.columns = outputs;
  op.has_bias = bias;
  op.macs = rows * inputs * outputs;
  op.elements = rows * outputs;
  op.parameters = inputs * outputs + (bias ? outputs : 0);
  SetTraffic(op, rows * inputs + op.parameters, op.elements);
  return op;
}

Operator& Builder::ChannelProduct(std::string name, int64_t heads, int64_t tokens, int64_t head_width) {
  Operator& op = Matmul(std::move(name), images_ * heads, head_width, tokens, head_width);
  op.channels = Operator::Channels::kProduct;
  return op;
}

Operator& Builder::MixChannels(std::string name, int64_t heads, int64_t tokens, int64_t head_width) {
  Operator& op = Matmul(std::move(name), images_ * heads, tokens, head_width, head_width);
  op.channels = Operator::Channels::kMix;
  return op;
}

Operator& Builder::Matmul(std::string name, int64_t batch, int64_t rows, int64_t inner, int64_t columns) {
  Operator& op = Append(OperatorKind::kMatmul, std::move(name));
  op.batch = batch;
  op.rows = rows;
  op.inner = inner;
  op.columns = columns;
  op.macs = batch * rows * inner * columns;
  op.elements = batch * rows * columns;
  SetTraffic(op, batch * (rows * inner + inner * columns), op.elements);
  return op;
}

Operator& Builder::Attention(std::string name, int64_t heads, int64_t queries, int64_t keys, int64_t head_width) {
  Operator& op = Append(OperatorKind::kAttention, std::move(name));
  op.batch = images_ * heads;
  op.rows = queries;
  op.columns = keys;
  op.inner = head_width;
  op.macs = 2 * op.batch * queries * keys * head_width;
  op.elements = op.batch * queries * keys;
  SetTraffic(op, op.batch * (queries + 2 * keys) * head_width, op.batch * queries * head_width);
  return op;
}

Operator& Builder::Convolution(std::string name, const Convolved& sizes) {
  Operator& op = Append(OperatorKind::kConvolution, std::move(name));
  const int64_t rows = (sizes.height + 2 * sizes.padding - sizes.kernel) / sizes.stride + 1;
  const int64_t columns = (sizes.width + 2 * sizes.padding - sizes.kernel) / sizes.stride + 1;
  const int64_t taps = int64_t{sizes.kernel} * sizes.kernel * sizes.inputs / sizes.groups;
  op.batch = images_;
  op.rows = rows * columns;
  op.inner = sizes.inputs;
  op.columns = sizes.outputs;
  op.height = sizes.height;
  op.width = sizes.width;
  op.kernel = sizes.kernel;
  op.stride = sizes.stride;
  op.padding = sizes.padding;
  op.groups = sizes.groups;
  op.has_bias = sizes.bias;
  op.elements = images_ * op.rows * sizes.outputs;
  op.macs = op.elements * taps;
  op.parameters = taps * sizes.outputs + (sizes.bias ? sizes.outputs : 0);
  SetTraffic(op, images_ * sizes.inputs * sizes.height * sizes.width + op.parameters, op.elements);
  return op;
}

Operator& Builder::GridConvolution(std::string name, int64_t inputs, int64_t outputs, int groups, bool bias) {
  return Convolution(std::move(name), {.inputs = inputs,
                                       .outputs = outputs,
                                       .height = grid_.rows,
                                       .width = grid_.columns,
                                       .groups = groups,
                                       .bias = bias});
}

Operator& Builder::Pool(std::string name, int64_t channels, int height, int width, int kernel) {
  Operator& op = Append(OperatorKind::kPool, std::move(name));
  op.batch = images_;
  op.rows = int64_t{height / kernel} * (width / kernel);
  op.columns = channels;
  op.height = height;
  op.width = width;
  op.kernel = kernel;
  op.stride = kernel;
  op.elements = images_ * op.rows * channels;
  SetTraffic(op, images_ * channels * height * width, op.elements);
  return op;
}

Operator& Builder::LayerNorm(std::string name, int64_t rows, int64_t width) {
  return Elementwise(OperatorKind::kLayerNorm, std::move(name), rows, width, 2 * width);
}

Operator& Builder::Elementwise(OperatorKind kind, std::string name, int64_t rows, int64_t columns, int64_t parameters) {
  Operator& op = Append(kind, std::move(name));
  op.rows = rows;
  op.columns = columns;
  op.elements = rows * columns;
  op.parameters = parameters;
  // Both operands of an addition have the same size, even if the second operand consists of parameters.
  const int64_t operands = kind == OperatorKind::kAdd || kind == OperatorKind::kScaleAdd ? 2 : 1;
  const int64_t own = kind == OperatorKind::kAdd ? 0 : parameters;
  SetTraffic(op, operands * op.elements + own, op.elements);
  return op;
}

}  // namespace vitrine::workload
