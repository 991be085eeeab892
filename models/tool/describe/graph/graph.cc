// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/graph/graph.h"

#include <algorithm>
#include <map>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "models/tool/describe/graph/program_json.h"
#include "models/workload/of_program.h"

namespace vitrine {
namespace {

namespace ir = program;

GraphRole RoleOf(const ir::Operator& op) {
  if (op.As<ir::Convolve>() || op.As<ir::ConvolveGrid>() || op.As<ir::Custom>() || op.As<ir::MeanTokens>() ||
      op.As<ir::Attend>() || op.As<ir::AttendChannels>() || op.As<ir::AttendLinearly>()) {
    return GraphRole::kMix;
  }
  if (op.As<ir::Linear>()) return GraphRole::kProduct;
  if (op.As<ir::ToTokens>() || op.As<ir::Patchify>() || op.As<ir::ClassToken>() || op.As<ir::JoinClass>() ||
      op.As<ir::TakeClass>() || op.As<ir::TakeCells>() || op.As<ir::Columns>() || op.As<ir::Concatenate>() ||
      op.As<ir::Constant>()) {
    return GraphRole::kMove;
  }
  return GraphRole::kRow;
}

std::string Heads(int heads) {
  return absl::StrCat(heads, heads == 1 ? " head" : " heads");
}
std::string Square(int side) {
  return absl::StrCat(side, "x", side);
}

// Makes the note in an operator's box: the settings of the operator that the diagram shows.
struct NoteOf {
  const ir::Operator& op;
  bool shared = false;  // another operator uses the same weight

  std::string operator()(const ir::Convolve& convolve) const {
    return absl::StrCat(Square(convolve.kernel), convolve.stride > 1 ? absl::StrCat(", stride ", convolve.stride) : "",
                        convolve.pool > 0 ? absl::StrCat(", pool ", Square(convolve.pool)) : "");
  }
  std::string operator()(const ir::Patchify& patchify) const { return Square(patchify.patch); }
  std::string operator()(const ir::TablePosition& position) const {
    return absl::StrCat(position.grid.rows, "x", position.grid.columns);
  }
  std::string operator()(const ir::Linear& linear) const {
    return absl::StrCat(linear.code < 0 ? absl::StrCat(linear.inputs) : "[x, code]", " to ", linear.outputs,
                        shared ? ", shared" : "");
  }
  std::string operator()(const ir::Residual&) const { return op.weights.empty() ? "x + y" : "x + scale y"; }
  std::string operator()(const ir::Add& add) const {
    return add.scale == 1 ? "x + y" : absl::StrCat("(x + y) ", add.scale);
  }
  std::string operator()(const ir::Attend& attend) const {
    return absl::StrCat(Heads(attend.heads), attend.shared_key ? ", q = k" : "", op.weights.empty() ? "" : ", Pos",
                        attend.class_query ? ", class" : "");
  }
  std::string operator()(const ir::AttendChannels& attend) const { return Heads(attend.heads); }
  std::string operator()(const ir::AttendLinearly& attend) const {
    return absl::StrCat(Heads(attend.heads), attend.class_query ? ", class" : "");
  }
  std::string operator()(const ir::ConvolveGrid& convolve) const {
    return convolve.depthwise ? "3x3 depthwise" : "3x3";
  }
  std::string operator()(const ir::Columns& columns) const {
    return absl::StrCat(columns.first, " to ", columns.first + columns.count - 1);
  }
  std::string operator()(const ir::Drop&) const { return "in training"; }
  std::string operator()(const ir::Custom& custom) const { return custom.function; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

// Returns "blocks.3" for "blocks.3.norm"; empty outside of blocks.
std::string BlockOf(const ir::Operator& op) {
  const std::vector<std::string> parts = absl::StrSplit(op.name, absl::MaxSplits('.', 2));
  const bool in_block = op.part == ir::Part::kBlock && parts.size() == 3 &&
                        std::all_of(parts[1].begin(), parts[1].end(), absl::ascii_isdigit);
  return in_block ? absl::StrCat(parts[0], ".", parts[1]) : "";
}

class Folding {
 public:
  Folding(const ir::Program& program, const WorkloadInput& input)
      : program_(program),
        sizes_(ir::MapSizesOf(program, {input.height, input.width})),
        macs_(PublishedMacsOf(program, {input.height, input.width})),
        users_(program.weights().size(), 0) {
    for (const ir::Operator& op : program.operators()) {
      for (const int weight : op.weights) ++users_[static_cast<size_t>(weight)];
    }
    if (program.cell() > 0) grid_ = {input.height / program.cell(), input.width / program.cell()};
  }

  std::vector<GraphPanel> Run() {
    std::string last_form;
    for (const Segment& segment : Segments()) {
      const std::string form = segment.block.empty() ? "" : FormOf(segment);
      if (!form.empty() && form == last_form) {
        panels_.back().blocks.push_back(segment.block);
      } else {
        panels_.push_back(PanelOf(segment));
      }
      last_form = form;
    }
    return panels_;
  }

 private:
  // Operators drawn in one panel.
  struct Segment {
    std::string block;
    std::vector<size_t> operators;
  };

  std::vector<Segment> Segments() const {
    std::vector<Segment> segments;
    std::vector<size_t> sources;  // operators without inputs, outside of blocks: drawn next to their readers
    const std::vector<ir::Operator>& operators = program_.operators();
    for (size_t i = 0; i < operators.size(); ++i) {
      const std::string block = BlockOf(operators[i]);
      if (operators[i].inputs.empty() && block.empty()) {
        sources.push_back(i);
        continue;
      }
      const bool goes_on = !segments.empty() && segments.back().block == block &&
                           operators[segments.back().operators.back()].part == operators[i].part;
      if (!goes_on) segments.push_back({block, {}});
      for (size_t& source : sources) {
        if (source == kDrawn || !Reads(operators[i], operators[source].output)) continue;
        segments.back().operators.push_back(source);
        source = kDrawn;
      }
      segments.back().operators.push_back(i);
    }
    return segments;
  }

  static bool Reads(const ir::Operator& op, ir::Value value) {
    return std::find(op.inputs.begin(), op.inputs.end(), value) != op.inputs.end();
  }

  std::string ShapeOf(ir::Value value) const {
    const ir::Program::ValueInfo& info = program_.info(value);
    const ir::MapSize map = sizes_[static_cast<size_t>(value.id)];
    switch (info.kind) {
      case ir::ValueKind::kMap:
        return absl::StrCat("[", map.height, "x", map.width, ", ", info.columns, "]");
      case ir::ValueKind::kCells:
        return absl::StrCat("[", grid_.cells(), ", ", info.columns, "]");
      case ir::ValueKind::kTokens:
        return absl::StrCat("[", grid_.cells(), " + class, ", info.columns, "]");
      case ir::ValueKind::kRows:
        break;
    }
    return absl::StrCat("[", info.columns, "]");
  }

  GraphNode NodeOf(size_t place, const std::string& block) const {
    const ir::Operator& op = program_.operators()[place];
    GraphNode node;
    node.role = RoleOf(op);
    node.kind = ir::KindName(op);
    node.note =
        std::visit(NoteOf{op, !op.weights.empty() && users_[static_cast<size_t>(op.weights[0])] > 1}, op.settings);
    node.name = block.empty() ? op.name : op.name.substr(block.size() + 1);
    node.shape = ShapeOf(op.output);
    node.macs = macs_[place];
    return node;
  }

  GraphPanel PanelOf(const Segment& segment) const {
    GraphPanel panel;
    panel.part = program_.operators()[segment.operators.front()].part;
    if (!segment.block.empty()) panel.blocks = {segment.block};
    std::map<int, int> node_of;  // index of the node by id of its value
    for (const size_t place : segment.operators) node_of[program_.operators()[place].output.id] = -1;
    for (const size_t place : segment.operators) {
      for (const ir::Value input : program_.operators()[place].inputs) {
        if (node_of.contains(input.id)) continue;
        node_of[input.id] = static_cast<int>(panel.nodes.size());
        panel.nodes.push_back(
            {.role = GraphRole::kPort, .kind = input == program_.images() ? "pictures" : "x", .shape = ShapeOf(input)});
      }
    }
    for (const size_t place : segment.operators) {
      const ir::Operator& op = program_.operators()[place];
      GraphNode node = NodeOf(place, segment.block);
      for (const ir::Value input : op.inputs) node.inputs.push_back(node_of[input.id]);
      node_of[op.output.id] = static_cast<int>(panel.nodes.size());
      panel.nodes.push_back(std::move(node));
    }
    return panel;
  }

  // Returns equal strings for blocks that differ only in their position.
  std::string FormOf(const Segment& segment) const {
    const GraphPanel panel = PanelOf(segment);
    std::string form;
    for (const GraphNode& node : panel.nodes) {
      absl::StrAppend(&form, node.name, " ", node.kind, " ", node.shape, " ", node.macs);
      for (const int input : node.inputs) absl::StrAppend(&form, " ", input);
      form += "\n";
    }
    for (const size_t place : segment.operators) {
      const ir::Operator& op = program_.operators()[place];
      nlohmann::ordered_json settings = SettingsJson(op);
      for (const char* of_place : {"layer", "site", "path"}) settings.erase(of_place);
      form += settings.dump();
      for (const int weight : op.weights) {
        for (const int64_t side : program_.weights()[static_cast<size_t>(weight)].shape)
          absl::StrAppend(&form, " ", side);
        form += ";";
      }
    }
    return form;
  }

  static constexpr size_t kDrawn = static_cast<size_t>(-1);

  const ir::Program& program_;
  const std::vector<ir::MapSize> sizes_;
  const std::vector<int64_t> macs_;
  std::vector<int> users_;  // number of readers of each weight
  Grid grid_;
  std::vector<GraphPanel> panels_;
};

}  // namespace

int64_t GraphPanel::macs() const {
  int64_t sum = 0;
  for (const GraphNode& node : nodes) sum += node.macs;
  return sum;
}

std::vector<GraphPanel> PanelsOf(const ir::Program& program, const WorkloadInput& input) {
  return Folding(program, input).Run();
}

}  // namespace vitrine
