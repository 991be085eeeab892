// SPDX-License-Identifier: Apache-2.0
#include "models/workload/workload.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/model.h"
#include "models/workload/builder.h"
#include "models/workload/families.h"

namespace vitrine {
namespace {

// The model without its memory.
absl::StatusOr<std::unique_ptr<Model>> ShapesOf(const v1::ModelConfig& config) {
  return MakeModel(config, /*seed=*/0, at::kMeta);
}

// The grid that learned positions were made for; empty where there is none.
Grid TableOf(const v1::ModelConfig& config) {
  switch (config.family_case()) {
    case v1::ModelConfig::kVit:
      return {config.vit().grid_rows(), config.vit().grid_columns()};
    case v1::ModelConfig::kEit:
      return {config.eit().grid_rows(), config.eit().grid_columns()};
    case v1::ModelConfig::kEitBaseline:
      return {config.eit_baseline().grid_rows(), config.eit_baseline().grid_columns()};
    case v1::ModelConfig::kKv:
      return {config.kv().grid_rows(), config.kv().grid_columns()};
    default:
      return {};
  }
}

Grid GridOf(const Model& model, const WorkloadInput& input) {
  return {input.height / model.cell(), input.width / model.cell()};
}

// The square of cells nearest to 224x224 pixels within the limits.
int NearestSide(const v1::NativeResolution& native) {
  int side = std::max(1, 224 / native.cell());
  while (side > 1 && side * side > native.max_tokens()) --side;
  while (side * side < native.min_tokens()) ++side;
  return side * native.cell();
}

}  // namespace

absl::StatusOr<Workload> WorkloadOf(const v1::ModelConfig& config, const WorkloadInput& input, Form form) {
  using Describe = void (*)(const v1::ModelConfig&, const WorkloadInput&, workload::Builder&);
  Describe describe = nullptr;
  switch (config.family_case()) {
    case v1::ModelConfig::kVit:
      describe = workload::DescribeVit;
      break;
    case v1::ModelConfig::kEit:
      describe = workload::DescribeEit;
      break;
    case v1::ModelConfig::kEitBaseline:
      describe = workload::DescribeEitBaseline;
      break;
    case v1::ModelConfig::kKv:
      describe = workload::DescribeKv;
      break;
    case v1::ModelConfig::kXcit:
      describe = workload::DescribeXcit;
      break;
    case v1::ModelConfig::kXvit:
      describe = workload::DescribeXVit;
      break;
    case v1::ModelConfig::kNull:
      return Workload();
    case v1::ModelConfig::kCustom:
      return absl::UnimplementedError(absl::StrCat("the operators of family ", config.custom().family(),
                                                   " are not counted; models/workload/ has a file for each family"));
    case v1::ModelConfig::FAMILY_NOT_SET:
      return absl::InvalidArgumentError("config names no family; without one there is nothing to count");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, ShapesOf(config));
  const Grid grid = GridOf(*model, input);
  if (input.images < 1 || grid.rows < 1 || grid.columns < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", input.images, " inputs of ", input.height, "x",
                                                   input.width, " pixels has no cell of ", model->cell(), " pixels"));
  }
  workload::Builder builder(input.images, grid, form);
  describe(config, input, builder);
  return builder.Take();
}

WorkloadInput DefaultInput(const v1::ModelConfig& config) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  if (preprocessing.has_fixed()) return {preprocessing.fixed().height(), preprocessing.fixed().width()};
  const Grid table = TableOf(config);
  const int cell = preprocessing.native().cell();
  if (table.cells() > 0) return {table.rows * cell, table.columns * cell};
  const int side = cell < 1 ? 0 : NearestSide(preprocessing.native());
  return {side, side};
}

int64_t TokensOf(const v1::ModelConfig& config, const WorkloadInput& input) {
  const absl::StatusOr<std::unique_ptr<Model>> model = ShapesOf(config);
  return model.ok() ? GridOf(**model, input).cells() + (*model)->prefix_tokens() : 0;
}

std::string_view KindName(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kLinear:
      return "LINEAR";
    case OperatorKind::kMatmul:
      return "MATMUL";
    case OperatorKind::kConvolution:
      return "CONVOLUTION";
    case OperatorKind::kAttention:
      return "ATTENTION";
    case OperatorKind::kLayerNorm:
      return "LAYER_NORM";
    case OperatorKind::kBatchNorm:
      return "BATCH_NORM";
    case OperatorKind::kNormalize:
      return "NORMALIZE";
    case OperatorKind::kSoftmax:
      return "SOFTMAX";
    case OperatorKind::kGelu:
      return "GELU";
    case OperatorKind::kRelu:
      return "RELU";
    case OperatorKind::kScale:
      return "SCALE";
    case OperatorKind::kAffine:
      return "AFFINE";
    case OperatorKind::kAdd:
      return "ADD";
    case OperatorKind::kScaleAdd:
      return "SCALE_ADD";
    case OperatorKind::kPool:
      return "POOL";
    case OperatorKind::kConcatenate:
      return "CONCATENATE";
  }
  return "";
}

std::string ShapeInWords(const Operator& op) {
  const std::string fused = absl::StrCat(op.pool > 0 ? absl::StrCat(", pool ", op.pool, "x", op.pool) : "",
                                         op.gelu ? ", GELU" : "", op.batch_norm ? ", norm" : "");
  switch (op.kind) {
    case OperatorKind::kLinear:
      return absl::StrCat("[", op.rows, ", ", op.inner, "] x [", op.inner, ", ", op.columns, "]", fused);
    case OperatorKind::kMatmul:
      return absl::StrCat(op.batch, " x [", op.rows, ", ", op.inner, "] x [", op.inner, ", ", op.columns, "]");
    case OperatorKind::kAttention:
      return absl::StrCat(op.batch, " heads of ", op.inner, ": ", op.rows, " queries, ", op.columns, " keys");
    case OperatorKind::kConvolution:
      return absl::StrCat(op.batch, " x [", op.inner, ", ", op.height, ", ", op.width, "] -> ", op.columns, ", ",
                          op.kernel, "x", op.kernel, op.stride > 1 ? absl::StrCat(" / ", op.stride) : "",
                          op.groups > 1 ? " depthwise" : "", fused);
    case OperatorKind::kPool:
      return absl::StrCat(op.batch, " x [", op.columns, ", ", op.height, ", ", op.width, "], ", op.kernel, "x",
                          op.kernel, " / ", op.stride);
    default:
      return absl::StrCat("[", op.rows, ", ", op.columns, "]");
  }
}

}  // namespace vitrine
