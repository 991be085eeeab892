// SPDX-License-Identifier: Apache-2.0
#include "models/workload/conventions.h"

namespace vitrine {
namespace {

// Operations per element.
struct Costs {
  int layer_norm = 0;
  int batch_norm = 0;
  int normalize = 0;
  int softmax = 0;
  int gelu = 0;
  int relu = 0;
  int scale = 0;
  int affine = 0;
  int add = 0;
  int pool_tap = 0;
};

constexpr Costs kCosts001{.layer_norm = 9, .softmax = 5, .gelu = 4, .scale = 1, .add = 1, .pool_tap = 1};
constexpr Costs kCosts003{.layer_norm = 6, .softmax = 3, .gelu = 1, .scale = 1, .add = 1};
constexpr Costs kCosts{.layer_norm = 6,
                       .batch_norm = 2,
                       .normalize = 3,
                       .softmax = 3,
                       .gelu = 1,
                       .relu = 1,
                       .scale = 1,
                       .affine = 2,
                       .add = 1,
                       .pool_tap = 1};

int64_t PerElement(const Operator& op, const Costs& costs) {
  switch (op.kind) {
    case OperatorKind::kLayerNorm:
      return costs.layer_norm;
    case OperatorKind::kBatchNorm:
      return costs.batch_norm;
    case OperatorKind::kNormalize:
      return costs.normalize;
    case OperatorKind::kSoftmax:
      return costs.softmax;
    case OperatorKind::kAttention:
      return costs.scale + costs.softmax;  // operations per logit
    case OperatorKind::kGelu:
      return costs.gelu;
    case OperatorKind::kRelu:
      return costs.relu;
    case OperatorKind::kScale:
      return costs.scale;
    case OperatorKind::kAffine:
      return costs.affine;
    case OperatorKind::kAdd:
      return costs.add;
    case OperatorKind::kScaleAdd:
      return costs.scale + costs.add;
    case OperatorKind::kPool:
      return int64_t{costs.pool_tap} * op.kernel * op.kernel;
    case OperatorKind::kConvolution:
      return op.pool > 0 ? costs.pool_tap : 0;
    case OperatorKind::kLinear:
    case OperatorKind::kMatmul:
    case OperatorKind::kConcatenate:
    case OperatorKind::kCustom:
      return 0;
    case OperatorKind::kMean:
      return costs.add;
  }
  return 0;
}

int64_t Flops(const Operator& op, const Costs& costs) {
  const int fused = (op.gelu ? costs.gelu : 0) + (op.batch_norm ? costs.batch_norm : 0);
  return 2 * op.macs + op.elements * (PerElement(op, costs) + fused);
}

}  // namespace

int64_t Parameters(const Workload& workload) {
  int64_t sum = 0;
  for (const Operator& op : workload) sum += op.parameters;
  return sum;
}

int64_t Macs(const Workload& workload) {
  int64_t sum = 0;
  for (const Operator& op : workload) sum += op.macs;
  return sum;
}

int64_t Flops001(const Workload& workload) {
  int64_t sum = 0;
  for (const Operator& op : workload) sum += Flops(op, kCosts001);
  return sum;
}

int64_t Flops003(const Workload& workload) {
  int64_t sum = 0;
  for (const Operator& op : workload) sum += op.part == ModelPart::kBlock ? Flops(op, kCosts003) : 2 * op.macs;
  return sum;
}

int64_t FlopsOf(const Operator& op) {
  return Flops(op, kCosts);
}

}  // namespace vitrine
