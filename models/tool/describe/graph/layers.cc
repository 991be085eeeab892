// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/graph/layers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "models/workload/conventions.h"

namespace vitrine {
namespace {

Cell Ratio(double value) {
  return Cell::Number(value, absl::StrFormat("%.*f", value < 10 ? 2 : 1, value));
}

}  // namespace

std::string OverBlocks(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool counts = parts[i - 1] == "blocks" || parts[i - 1] == "class_blocks";
    if (counts && std::isdigit(static_cast<unsigned char>(parts[i][0])) != 0) parts[i] = "*";
  }
  return absl::StrJoin(parts, ".");
}

std::string LabelOf(const std::string& name) {
  for (const char* prefix : {"class_blocks.*.", "blocks.*."}) {
    if (!name.starts_with(prefix)) continue;
    return absl::StrCat(prefix[0] == 'c' ? "class " : "", name.substr(std::string_view(prefix).size()));
  }
  return name;
}

std::string Short(double value) {
  for (const auto& [unit, name] : {std::pair{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}) {
    if (value >= unit) return absl::StrFormat("%.4g%s", value / unit, name);
  }
  return absl::StrFormat("%.4g ", value);
}

std::vector<Layer> LayersOf(const Workload& workload, bool every) {
  std::vector<Layer> layers;
  std::map<std::string, size_t> known;
  for (const Operator& op : workload) {
    const std::string shared = OverBlocks(op.name);
    // The key has the parameter count, because a block that owns shared weights differs from blocks that reuse them.
    const std::string key = absl::StrCat(every ? op.name : shared, " ", ShapeInWords(op), " ", op.parameters);
    const auto [at, fresh] = known.emplace(key, layers.size());
    if (fresh) {
      layers.push_back({op.name, op, 1});
    } else {
      layers[at->second].name = shared;
      ++layers[at->second].count;
    }
  }
  return layers;
}

DataTable LayerTable(const std::vector<Layer>& layers) {
  DataTable table({{"name", "OPERATOR"},
                   {"kind", "KIND"},
                   {"count", "TIMES", true},
                   {"shape", "SHAPE"},
                   {"parameters", "PARAMETERS", true},
                   {"macs", ""},
                   {"flops", "FLOP", true},
                   {"bytes", "BYTES", true},
                   {"intensity", "FLOP/BYTE", true}});
  for (const Layer& layer : layers) {
    const int64_t flops = FlopsOf(layer.op);
    table.Add({Cell::Text(layer.name),
               Cell::Text(KindName(layer.op.kind)),
               Cell::Count(layer.count),
               Cell::Text(ShapeInWords(layer.op)),
               Cell::Count(layer.op.parameters),
               Cell::Count(layer.op.macs),
               {flops, Short(static_cast<double>(flops))},
               {layer.op.bytes(), Short(static_cast<double>(layer.op.bytes()))},
               Ratio(static_cast<double>(flops) / static_cast<double>(layer.op.bytes()))});
  }
  return table;
}

namespace {

RooflineGroup GroupOf(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kLinear:
      return RooflineGroup::kLinear;
    case OperatorKind::kAttention:
    case OperatorKind::kMatmul:
      return RooflineGroup::kProduct;
    case OperatorKind::kConvolution:
      return RooflineGroup::kConvolution;
    case OperatorKind::kLayerNorm:
    case OperatorKind::kBatchNorm:
    case OperatorKind::kNormalize:
      return RooflineGroup::kNorm;
    case OperatorKind::kGelu:
    case OperatorKind::kRelu:
    case OperatorKind::kSoftmax:
      return RooflineGroup::kActivation;
    default:
      return RooflineGroup::kElementwise;
  }
}

}  // namespace

std::vector<RooflinePoint> PointsAtTheirBound(const std::vector<Layer>& layers, const CorePeaks& peaks) {
  constexpr double kShare = 0.02;
  std::vector<RooflinePoint> points;
  for (const Layer& layer : layers) {
    const double flops = static_cast<double>(FlopsOf(layer.op)), bytes = static_cast<double>(layer.op.bytes());
    if (flops <= 0) continue;
    const double intensity = flops / bytes;
    points.push_back({LabelOf(layer.name), GroupOf(layer.op.kind), intensity,
                      std::min(peaks.gflops, intensity * peaks.cache_gbps), kShare});
  }
  return points;
}

}  // namespace vitrine
