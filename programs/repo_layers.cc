// SPDX-License-Identifier: Apache-2.0
#include "programs/repo_layers.h"

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

// "blocks.3.norm" as "blocks.*.norm": the first number of a name counts blocks.
std::string OverBlocks(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool counts = parts[i - 1] == "blocks" || parts[i - 1] == "class_blocks";
    if (counts && std::isdigit(static_cast<unsigned char>(parts[i][0])) != 0) parts[i] = "*";
  }
  return absl::StrJoin(parts, ".");
}

std::string Microseconds(double seconds) {
  return absl::StrFormat("%.*f", seconds < 1e-4 ? 1 : 0, seconds * 1e6);
}

Cell Ratio(double value) {
  return Cell::Number(value, absl::StrFormat("%.*f", value < 10 ? 2 : 1, value));
}

double TotalSeconds(const std::vector<Layer>& layers) {
  double total = 0;
  for (const Layer& layer : layers) total += layer.count * layer.seconds.value_or(0);
  return total;
}

std::vector<Cell> MeasuredCells(const Layer& layer, const MachinePeaks& peaks, double total) {
  const double flops = static_cast<double>(FlopsOf(layer.op)), bytes = static_cast<double>(layer.op.bytes());
  const double bound = peaks.Bound(flops, bytes);
  std::vector<Cell> cells;
  if (layer.seconds) {
    cells.push_back(Cell::Number(*layer.seconds, Microseconds(*layer.seconds)));
  } else {
    cells.push_back(Cell::Nothing());
  }
  cells.push_back(Cell::Number(bound, Microseconds(bound)));
  if (!layer.seconds) {
    cells.insert(cells.end(), 3, Cell::Nothing());
    return cells;
  }
  cells.push_back(Ratio(flops / *layer.seconds / 1e9));
  cells.push_back(Ratio(bound / *layer.seconds));
  const double share = layer.count * *layer.seconds / total;
  cells.push_back(Cell::Number(share, absl::StrFormat("%.1f %%", 100 * share)));
  return cells;
}

}  // namespace

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
    // A block that owns what others share is another.
    const std::string key = absl::StrCat(every ? op.name : shared, " ", ShapeInWords(op), " ", op.parameters);
    const auto [at, fresh] = known.emplace(key, layers.size());
    if (fresh) {
      layers.push_back({op.name, op, 1, std::nullopt});
    } else {
      layers[at->second].name = shared;
      ++layers[at->second].count;
    }
  }
  return layers;
}

DataTable LayerTable(const std::vector<Layer>& layers, const MachinePeaks* peaks) {
  std::vector<DataTable::Column> columns = {{"name", "OPERATOR"},
                                            {"kind", "KIND"},
                                            {"count", "TIMES", true},
                                            {"shape", "SHAPE"},
                                            {"parameters", "PARAMETERS", true},
                                            {"macs", ""},
                                            {"flops", "FLOP", true},
                                            {"bytes", "BYTES", true},
                                            {"intensity", "FLOP/BYTE", true}};
  if (peaks != nullptr) {
    for (const DataTable::Column& column : std::vector<DataTable::Column>{{"seconds", "US", true},
                                                                          {"bound_seconds", "BOUND US", true},
                                                                          {"gflops", "GFLOP/S", true},
                                                                          {"of_bound", "OF BOUND", true},
                                                                          {"share", "SHARE", true}}) {
      columns.push_back(column);
    }
  }
  DataTable table(std::move(columns));
  const double total = TotalSeconds(layers);
  for (const Layer& layer : layers) {
    const int64_t flops = FlopsOf(layer.op);
    std::vector<Cell> row = {Cell::Text(layer.name),
                             Cell::Text(KindName(layer.op.kind)),
                             Cell::Count(layer.count),
                             Cell::Text(ShapeInWords(layer.op)),
                             Cell::Count(layer.op.parameters),
                             Cell::Count(layer.op.macs),
                             {flops, Short(static_cast<double>(flops))},
                             {layer.op.bytes(), Short(static_cast<double>(layer.op.bytes()))},
                             Ratio(static_cast<double>(flops) / static_cast<double>(layer.op.bytes()))};
    if (peaks != nullptr) {
      for (Cell& cell : MeasuredCells(layer, *peaks, total)) row.push_back(std::move(cell));
    }
    table.Add(std::move(row));
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

std::vector<RooflinePoint> PointsOf(const std::vector<Layer>& layers, const MachinePeaks& peaks) {
  std::vector<RooflinePoint> points;
  const double total = TotalSeconds(layers);
  for (const Layer& layer : layers) {
    const double flops = static_cast<double>(FlopsOf(layer.op)), bytes = static_cast<double>(layer.op.bytes());
    if (flops <= 0) continue;
    std::string label = layer.name;
    for (const char* prefix : {"class_blocks.*.", "blocks.*."}) {
      if (!label.starts_with(prefix)) continue;
      label = absl::StrCat(prefix[0] == 'c' ? "class " : "", label.substr(std::string_view(prefix).size()));
      break;
    }
    const double seconds = layer.seconds.value_or(peaks.Bound(flops, bytes));
    points.push_back({std::move(label), GroupOf(layer.op.kind), flops / bytes, flops / seconds / 1e9,
                      total > 0 ? layer.count * seconds / total : 0.02});
  }
  return points;
}

}  // namespace vitrine
