// SPDX-License-Identifier: Apache-2.0
#include "models/workload/workload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/workload/of_program.h"

namespace vitrine {
namespace {

// Returns the side, in pixels, of the largest square of whole cells within 224x224 pixels, or of the nearest square
// that has min_tokens to max_tokens cells.
int NearestSide(const v1::NativeResolution& native) {
  int side = std::max(1, 224 / native.cell());
  while (side > 1 && side * side > native.max_tokens()) --side;
  while (side * side < native.min_tokens()) ++side;
  return side * native.cell();
}

}  // namespace

absl::StatusOr<Workload> WorkloadOf(const v1::ModelConfig& config, const WorkloadInput& input, Form form) {
  ASSIGN_OR_RETURN(const program::Program program, ProgramOf(config));
  const int cell = std::max(1, program.cell());
  if (input.images < 1 || input.height < cell || input.width < cell) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", input.images, " inputs of ", input.height, "x",
                                                   input.width, " pixels has no cell of ", cell, " pixels"));
  }
  return WorkloadOf(program, input, form);
}

WorkloadInput DefaultInput(const v1::ModelConfig& config) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  if (preprocessing.has_fixed()) return {preprocessing.fixed().height(), preprocessing.fixed().width()};
  const absl::StatusOr<program::Program> program = ProgramOf(config);
  const Grid table = program.ok() ? program->table() : Grid();
  const int cell = preprocessing.native().cell();
  if (table.cells() > 0) return {table.rows * cell, table.columns * cell};
  const int side = cell < 1 ? 0 : NearestSide(preprocessing.native());
  return {side, side};
}

int64_t TokensOf(const v1::ModelConfig& config, const WorkloadInput& input) {
  const absl::StatusOr<program::Program> program = ProgramOf(config);
  if (program.ok() && program->cell() == 0) return 1;
  // ProgramOf fails for an invalid config; the cell of the preprocessing is then used.
  const int cell = program.ok() ? program->cell() : config.preprocessing().native().cell();
  if (cell == 0) return 0;
  const Grid grid{input.height / cell, input.width / cell};
  return grid.cells() + (program.ok() ? program->prefix_tokens() : 0);
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
    case OperatorKind::kMean:
      return "MEAN";
    case OperatorKind::kCustom:
      return "CUSTOM";
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
