// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/cpu/packed_linear.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/kernels/cpu/bf16.h"
#include "models/kernels/cpu/kernel_table.h"

namespace vitrine::cpu {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void Put(float value, float& place) {
  place = value;
}
void Put(float value, Bf16& place) {
  place = ToBf16(value);
}

// `depth` adjacent inputs make a step.
template <typename Element>
void FillPanels(View<const float> weight, const KernelTable& kernels, int depth, Element* panels) {
  const int64_t steps = RoundUp(weight.columns, depth) / depth;
  for (int64_t first = 0; first < weight.rows; first += kernels.panel_columns) {
    const int64_t outputs = std::min<int64_t>(kernels.panel_columns, weight.rows - first);
    const int64_t width = RoundUp(outputs, kernels.vector_columns);
    Element* const panel = panels + first * steps * depth;
    for (int64_t output = 0; output < outputs; ++output) {
      for (int64_t input = 0; input < weight.columns; ++input) {
        Put(weight.Row(first + output)[input], panel[(input / depth * width + output) * depth + input % depth]);
      }
    }
  }
}

}  // namespace

absl::StatusOr<PackedLinear> PackedLinear::Pack(View<const float> weight, const float* bias, CpuPath path,
                                                Precision precision) {
  if (weight.rows < 1 || weight.columns < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a weight matrix of ", weight.rows, " x ", weight.columns, " cannot be packed"));
  }
  const KernelTable* kernels = FindKernels(path, precision);
  if (kernels == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("this CPU cannot run the ", Name(precision), " kernels of ",
                                                      Name(path), "; it can run ", Name(BestPath()), " in fp32"));
  }
  return PackedLinear(weight, bias, *kernels);
}

PackedLinear::PackedLinear(View<const float> weight, const float* bias, const KernelTable& kernels)
    : kernels_(&kernels), inputs_(weight.columns), outputs_(weight.rows) {
  const int64_t padded = RoundUp(outputs_, kernels.vector_columns);
  const bool fp32 = kernels.precision == Precision::kFp32;
  panels_ = AlignedBuffer(padded * (fp32 ? inputs_ * 4 : RoundUp(inputs_, 2) * 2));
  bias_ = AlignedBuffer(padded * 4);
  if (fp32) {
    FillPanels(weight, kernels, 1, reinterpret_cast<float*>(panels_.data()));
  } else {
    FillPanels(weight, kernels, 2, reinterpret_cast<Bf16*>(panels_.data()));
  }
  if (bias != nullptr) std::copy(bias, bias + outputs_, reinterpret_cast<float*>(bias_.data()));
}

}  // namespace vitrine::cpu
