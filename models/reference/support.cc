// SPDX-License-Identifier: Apache-2.0
#include "models/reference/support.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/reference/steps.h"

namespace vitrine {
namespace {

using program::Operator;
using program::Program;
using program::ValueKind;

// Returns the unsupported feature of a step, or null if the step is supported.
struct Lacks {
  const Program& program;
  const OperatorStep& step;

  ValueKind Kind(size_t input) const { return program.info(step.op->inputs[input]).kind; }

  const char* operator()(const program::Convolve& convolve) const {
    const bool bias = step.op->weights.size() > 1;
    if (step.norm != nullptr) {
      const bool stem = convolve.kernel == 3 && convolve.stride == 2 && convolve.padding == 1 && convolve.pool == 0 &&
                        !convolve.channels_last && !bias;
      return stem ? nullptr : "a convolution before BatchNorm that is not 3x3 with stride 2 and without bias";
    }
    if (!convolve.channels_last || !bias || convolve.cut > 1) return "a convolution without BatchNorm and without bias";
    const bool pooled = convolve.kernel == 3 && convolve.stride == 1 && convolve.padding == 1;
    return convolve.pool == 0 || pooled ? nullptr : "a pool after a convolution that is not 3x3 with stride 1";
  }
  const char* operator()(const program::BatchNorm&) const {
    return Kind(0) == ValueKind::kCells ? nullptr : "BatchNorm of anything but cells, or of a convolution others read";
  }
  const char* operator()(const program::Activate& activate) const {
    const bool relu = activate.function == program::Activate::Function::kRelu;
    return !relu && Kind(0) == ValueKind::kMap ? "GELU of a map without BatchNorm" : nullptr;
  }
  const char* operator()(const program::Residual& residual) const {
    return residual.path >= 0 && Kind(0) == ValueKind::kRows ? "stochastic depth of rows" : nullptr;
  }
  const char* operator()(const program::ConvolveGrid& convolve) const {
    return convolve.depthwise && Kind(0) != ValueKind::kCells ? "a depthwise convolution with class tokens" : nullptr;
  }
  const char* operator()(const program::Attend& attend) const {
    const size_t inputs = step.op->inputs.size();
    if (attend.class_query != (inputs == 3) || (!attend.class_query && inputs != 1)) {
      return "separate q, k and v for all queries, or joined q, k and v for the class token";
    }
    if (attend.offers_scores) return nullptr;  // only the KV family sets this; all KV options are supported
    if (attend.shared_key || !step.op->weights.empty()) return "a shared key or a map without scores";
    const double head_width = static_cast<double>(program.info(step.op->output).columns) / attend.heads;
    return std::abs(attend.scale * std::sqrt(head_width) - 1) < 1e-9 ? nullptr : "a scale other than 1 / sqrt(d_h)";
  }
  template <class Other>
  const char* operator()(const Other&) const {
    return nullptr;
  }
};

}  // namespace

absl::Status CheckSupported(const Program& program) {
  for (const OperatorStep& step : StepsOf(program)) {
    const char* lacks = std::visit(Lacks{program, step}, step.op->settings);
    if (lacks == nullptr) continue;
    return absl::UnimplementedError(absl::StrCat("operator ", step.op->name, ": the reference does not run ", lacks));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
