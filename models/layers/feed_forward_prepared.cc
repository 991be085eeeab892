// SPDX-License-Identifier: Apache-2.0
#include "models/layers/feed_forward_prepared.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/kernels/cpu/fold.h"
#include "models/kernels/cpu/kernel_table.h"
#include "models/kernels/cpu/layer_norm.h"
#include "models/kernels/cpu/linear.h"
#include "models/layers/feed_forward.h"

namespace vitrine {
namespace {

using cpu::Bf16;
using cpu::PackedLinear;
using cpu::Precision;
using cpu::View;
using cpu::Workspace;

// Activations of a block of tokens; the rest of a second cache of 1 MB is for the panels of weights that pass by.
constexpr int64_t kBlockBytes = 512 * 1024;
// Below this the weights, which pass by once per block, cost more than activations that leave the second cache.
constexpr int64_t kMinBlockRows = 72;
// A multiple of the rows of every register tile.
constexpr int64_t kBlockStep = 12;

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

at::Tensor OnCpu(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU, at::kFloat).contiguous();
}

View<const float> MatrixOf(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), tensor.size(0), tensor.size(1), tensor.size(1)};
}

}  // namespace

absl::StatusOr<PreparedFeedForward> PreparedFeedForward::Prepare(const FeedForward& layer, cpu::CpuPath path,
                                                                 Precision precision) try {
  const at::Tensor scale = OnCpu(layer.norm().weight());
  const at::Tensor shift = OnCpu(layer.norm().bias());
  const at::Tensor weight1 = OnCpu(layer.fc1().weight());
  const at::Tensor bias1 = OnCpu(layer.fc1().bias());
  const at::Tensor weight2 = OnCpu(layer.fc2().weight());
  const at::Tensor bias2 = OnCpu(layer.fc2().bias());
  const cpu::LinearWeights folded = cpu::FoldInput(MatrixOf(weight1), bias1.const_data_ptr<float>(),
                                                   scale.const_data_ptr<float>(), shift.const_data_ptr<float>());
  ASSIGN_OR_RETURN(PackedLinear fc1, PackedLinear::Pack(folded.matrix(), folded.bias.data(), path, precision));
  ASSIGN_OR_RETURN(PackedLinear fc2,
                   PackedLinear::Pack(MatrixOf(weight2), bias2.const_data_ptr<float>(), path, precision));
  return PreparedFeedForward(std::move(fc1), std::move(fc2), static_cast<float>(layer.norm().epsilon()));
} catch (const std::exception& error) {
  return absl::InternalError(absl::StrCat("LibTorch could not hand out the weights: ", error.what()));
}

PreparedFeedForward::PreparedFeedForward(PackedLinear fc1, PackedLinear fc2, float epsilon)
    : fc1_(std::move(fc1)), fc2_(std::move(fc2)), epsilon_(epsilon) {
  const int64_t element = fc1_.kernels().precision == Precision::kFp32 ? 4 : 2;
  const int64_t fitting = kBlockBytes / ((width() + hidden()) * element);
  block_rows_ = std::max(kMinBlockRows, fitting / kBlockStep * kBlockStep);
}

template <typename Element>
int64_t PreparedFeedForward::BlockBytes() const {
  return Workspace::Bytes<Element>(block_rows_, width()) + Workspace::Bytes<Element>(block_rows_, hidden());
}

int64_t PreparedFeedForward::WorkspaceBytes() const {
  return fc1_.kernels().precision == Precision::kFp32 ? BlockBytes<float>() : BlockBytes<Bf16>();
}

void PreparedFeedForward::Run(View<const float> x, View<float> y, Workspace& workspace) const {
  if (fc1_.kernels().precision == Precision::kFp32) {
    RunBlocks<float>(x, y, workspace);
  } else {
    RunBlocks<Bf16>(x, y, workspace);
  }
}

template <typename Element>
void PreparedFeedForward::RunBlocks(View<const float> x, View<float> y, Workspace& workspace) const {
  if (x.rows == 0) return;
  Workspace::Scope scope(workspace);
  const View<Element> normalized = scope.Take<Element>(block_rows_, width());
  const View<Element> hidden_activations = scope.Take<Element>(block_rows_, hidden());
  // Blocks of about one size: a last block of a few tokens would read all the weights for them alone.
  const int64_t blocks = (x.rows + block_rows_ - 1) / block_rows_;
  const int64_t rows_per_block = std::min(block_rows_, RoundUp((x.rows + blocks - 1) / blocks, kBlockStep));
  for (int64_t first = 0; first < x.rows; first += rows_per_block) {
    const int64_t rows = std::min(rows_per_block, x.rows - first);
    const View<const float> tokens = x.Rows(first, rows);
    const View<Element> z = normalized.Rows(0, rows);
    const View<Element> a = hidden_activations.Rows(0, rows);
    NormalizeRows(fc1_.kernels(), tokens, epsilon_, z);               // z = LN(x)
    ApplyLinear(z, fc1_, {.activation = cpu::Activation::kGelu}, a);  // a = GELU(W1 z + b1)
    ApplyLinear(a, fc2_, {.residual = tokens}, y.Rows(first, rows));  // y = x + W2 a + b2
  }
}

}  // namespace vitrine
