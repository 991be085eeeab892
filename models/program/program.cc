// SPDX-License-Identifier: Apache-2.0
#include "models/program/program.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace vitrine::program {
namespace {

struct NameOf {
  const char* operator()(const Convolve&) const { return "Convolve"; }
  const char* operator()(const ToTokens&) const { return "ToTokens"; }
  const char* operator()(const Patchify&) const { return "Patchify"; }
  const char* operator()(const TablePosition&) const { return "TablePosition"; }
  const char* operator()(const FourierPosition&) const { return "FourierPosition"; }
  const char* operator()(const ClassToken&) const { return "ClassToken"; }
  const char* operator()(const JoinClass&) const { return "JoinClass"; }
  const char* operator()(const TakeClass&) const { return "TakeClass"; }
  const char* operator()(const TakeCells&) const { return "TakeCells"; }
  const char* operator()(const LayerNorm&) const { return "LayerNorm"; }
  const char* operator()(const BatchNorm&) const { return "BatchNorm"; }
  const char* operator()(const Affine&) const { return "Affine"; }
  const char* operator()(const Linear&) const { return "Linear"; }
  const char* operator()(const Activate& activate) const {
    if (activate.function == Activate::Function::kQuickGelu) return "QuickGelu";
    return activate.function == Activate::Function::kGelu ? "Gelu" : "Relu";
  }
  const char* operator()(const Residual&) const { return "Residual"; }
  const char* operator()(const Attend&) const { return "Attend"; }
  const char* operator()(const AttendChannels&) const { return "AttendChannels"; }
  const char* operator()(const AttendLinearly&) const { return "AttendLinearly"; }
  const char* operator()(const ConvolveGrid&) const { return "ConvolveGrid"; }
  const char* operator()(const Columns&) const { return "Columns"; }
  const char* operator()(const Concatenate&) const { return "Concatenate"; }
  const char* operator()(const Add&) const { return "Add"; }
  const char* operator()(const Drop&) const { return "Drop"; }
  const char* operator()(const MeanTokens&) const { return "MeanTokens"; }
  const char* operator()(const UnitLength&) const { return "UnitLength"; }
  const char* operator()(const Custom&) const { return "Custom"; }
  const char* operator()(const Constant&) const { return "Constant"; }
};

}  // namespace

int64_t Weight::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

int64_t Program::parameters() const {
  int64_t count = 0;
  for (const Weight& weight : weights_) count += weight.trained ? weight.elements() : 0;
  return count;
}

const char* KindName(const Operator& op) {
  return std::visit(NameOf(), op.settings);
}

MapSize ResultOf(const Convolve& convolve, MapSize size) {
  const auto places = [&](int pixels) {
    const int seen = pixels / convolve.cut * convolve.cut;
    return ((seen + 2 * convolve.padding - convolve.kernel) / convolve.stride + 1) / std::max(1, convolve.pool);
  };
  return {places(size.height), places(size.width)};
}

std::vector<MapSize> MapSizesOf(const Program& program, MapSize image) {
  std::vector<MapSize> sizes(static_cast<size_t>(program.values()));
  sizes[0] = image;
  for (const Operator& op : program.operators()) {
    if (program.info(op.output).kind != ValueKind::kMap) continue;
    const MapSize input = sizes[static_cast<size_t>(op.inputs[0].id)];
    const Convolve* convolve = op.As<Convolve>();
    sizes[static_cast<size_t>(op.output.id)] = convolve == nullptr ? input : ResultOf(*convolve, input);
  }
  return sizes;
}

}  // namespace vitrine::program
