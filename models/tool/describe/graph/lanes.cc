// SPDX-License-Identifier: Apache-2.0
// The boxes of a panel are placed in lanes. A box is below its main input (x of x + y), in the same lane, so that the
// residual stream is the first lane. The wires of the box's other inputs run down in a lane to the right and enter the
// box from the side.
#include <algorithm>
#include <utility>

#include "models/tool/describe/graph/layout.h"

namespace vitrine {
namespace {

constexpr double kRowGap = 24, kLaneGap = 26, kEmptyLane = 18;
constexpr double kTrack = 5;  // distance between horizontal wires in a gap

class Arrangement {
 public:
  explicit Arrangement(const GraphPanel& panel)
      : nodes_(panel.nodes), rows_(nodes_.size(), -1), lanes_(nodes_.size(), -1) {}

  GraphPanelPlan Run() {
    AssignRows();
    for (int node = count() - 1; node >= 0; --node) {
      if (lanes_[At(node)] >= 0) continue;
      const int lane = FreeLane(0, 0, rows_[At(node)]);
      Reserve(lane, 0, last_row_);
      Place(node, lane);
    }
    SetSpots();
    for (const Wire& wire : wires_) {
      (wire.lane == 0 && lanes_[At(wire.from)] == 0 ? plan_.trunk : plan_.branches).push_back(Route(wire));
    }
    return std::move(plan_);
  }

 private:
  struct Wire {
    int from = 0;
    int to = 0;
    int lane = 0;       // lane of the wire's vertical part
    bool side = false;  // true: enters the reader's box from the side
  };

  static size_t At(int place) { return static_cast<size_t>(place); }
  int count() const { return static_cast<int>(nodes_.size()); }
  const std::vector<int>& InputsOf(int node) const { return nodes_[At(node)].inputs; }
  bool IsSource(int node) const { return InputsOf(node).empty() && nodes_[At(node)].role != GraphRole::kPort; }

  // Puts ports in the first row, and boxes with inputs below their inputs. A box without inputs goes to the row above
  // the box that reads its result.
  void AssignRows() {
    for (int node = 0; node < count(); ++node) {
      if (IsSource(node)) continue;
      int& row = rows_[At(node)];
      row = InputsOf(node).empty() ? 0 : 1;
      for (const int input : InputsOf(node)) {
        row = std::max(row, rows_[At(input)] + 1);
        if (IsSource(input) && rows_[At(input)] < 0) pending_.push_back({input, node});
      }
      last_row_ = std::max(last_row_, row);
    }
    longest_ = rows_;
    for (const auto& [source, reader] : pending_) rows_[At(source)] = rows_[At(reader)] - 1;
    for (int& row : rows_) row = std::max(row, 0);
  }

  // Returns the index of the input drawn above the operator in its lane. If a class token and cells are joined, returns
  // the later input.
  size_t MainInput(int node) const {
    const std::vector<int>& inputs = InputsOf(node);
    if (nodes_[At(node)].kind != "JoinClass") return 0;
    return longest_[At(inputs.back())] > longest_[At(inputs[0])] ? inputs.size() - 1 : 0;
  }

  void Place(int node, int lane) {
    lanes_[At(node)] = lane;
    const std::vector<int>& inputs = InputsOf(node);
    if (inputs.empty()) return;
    const size_t main = MainInput(node);
    if (lanes_[At(inputs[main])] < 0) Place(inputs[main], lane);
    wires_.push_back({inputs[main], node, lane, false});
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == main) continue;
      const int side = FreeLane(lane + 1, FirstRow(inputs[i]), rows_[At(node)]);
      Reserve(side, FirstRow(inputs[i]), rows_[At(node)]);
      if (lanes_[At(inputs[i])] < 0) Place(inputs[i], side);
      wires_.push_back({inputs[i], node, side, true});
    }
  }

  // Returns the first row of the boxes in the lane that ends in `node`.
  int FirstRow(int node) const {
    while (lanes_[At(node)] < 0) {
      if (InputsOf(node).empty()) return rows_[At(node)];
      node = InputsOf(node)[MainInput(node)];
    }
    return rows_[At(node)] + 1;
  }

  int FreeLane(int lane, int first, int last) const {
    while (At(lane) < taken_.size() && std::ranges::any_of(taken_[At(lane)], [&](const std::pair<int, int>& rows) {
             return rows.first <= last && first <= rows.second;
           })) {
      ++lane;
    }
    return lane;
  }
  void Reserve(int lane, int first, int last) {
    if (taken_.size() <= At(lane)) taken_.resize(At(lane) + 1);
    taken_[At(lane)].push_back({first, last});
  }

  // --- positions in pixels

  static GraphSpot SizeOf(const GraphNode& node) {
    const double kind = GraphTextWidth(node.kind, kGraphText, true);
    const double shape = GraphTextWidth(node.shape, kGraphSmallText, false), apart = 10;
    const bool port = node.role == GraphRole::kPort;
    if (port) return {.width = kind + apart + shape + 2 * kGraphPadding, .height = kGraphLine + 8};
    const double note = node.note.empty() ? 0 : apart + GraphTextWidth(node.note, kGraphSmallText, false);
    const double name = GraphTextWidth(node.name, kGraphSmallText, false);
    const double macs = node.macs == 0 ? 0 : apart + GraphTextWidth(GraphCount(node.macs), kGraphSmallText, true);
    const double below = node.macs == 0 ? name + apart + shape : std::max(name, shape + macs);
    return {.width = std::max(kind + note, below) + 2 * kGraphPadding,
            .height = (node.macs == 0 ? 2 : 3) * kGraphLine + 8};
  }

  void SetSpots() {
    std::vector<double> widths(taken_.size(), kEmptyLane), heights(At(last_row_) + 1, 0);
    for (int node = 0; node < count(); ++node) {
      plan_.nodes.push_back(SizeOf(nodes_[At(node)]));
      double& width = widths[At(lanes_[At(node)])];
      double& height = heights[At(rows_[At(node)])];
      width = std::max(width, plan_.nodes.back().width);
      height = std::max(height, plan_.nodes.back().height);
    }
    double x = kGraphPadding + 6;
    for (const double width : widths) {
      centres_.push_back(x + width / 2);
      x += width + kLaneGap;
    }
    double y = kGraphHeader;
    for (const double height : heights) {
      tops_.push_back(y);
      y += height + kRowGap;
      ends_.push_back(y - kRowGap);
    }
    for (int node = 0; node < count(); ++node) {
      GraphSpot& spot = plan_.nodes[At(node)];
      const size_t lane = At(lanes_[At(node)]);
      if (nodes_[At(node)].role != GraphRole::kPort) spot.width = widths[lane];
      spot.x = centres_[lane] - spot.width / 2;
      spot.y = tops_[At(rows_[At(node)])];
    }
    plan_.spot.width = x - kLaneGap + kGraphPadding + 6;
    plan_.spot.height = y;
  }

  bool HasBox(int row, int lane) const {
    for (int node = 0; node < count(); ++node) {
      if (rows_[At(node)] == row && lanes_[At(node)] == lane) return true;
    }
    return false;
  }
  bool CanEnterFromSide(const Wire& wire) const {
    for (int lane = lanes_[At(wire.to)] + 1; lane <= wire.lane; ++lane) {
      if (HasBox(rows_[At(wire.to)], lane)) return false;
    }
    return true;
  }
  // Returns the y of the horizontal wire below `node`. Each box to the right of `node` in its row moves the wire down
  // by one track, but two tracks at most.
  double TrackBelow(int node) const {
    int track = 0;
    for (int other = 0; other < count(); ++other) {
      if (rows_[At(other)] == rows_[At(node)] && lanes_[At(other)] > lanes_[At(node)]) ++track;
    }
    return ends_[At(rows_[At(node)])] + 8 + kTrack * std::min(track, 2);
  }
  // Returns the y at which a wire enters the side of a box. Wires are ordered from left to right.
  double EntryOf(const Wire& wire) const {
    int before = 1, all = 1;
    for (const Wire& other : wires_) {
      if (!other.side || other.to != wire.to) continue;
      ++all;
      if (other.lane < wire.lane) ++before;
    }
    const GraphSpot& to = plan_.nodes[At(wire.to)];
    return to.y + to.height * before / all;
  }

  GraphWire Route(const Wire& wire) const {
    const GraphSpot &from = plan_.nodes[At(wire.from)], &to = plan_.nodes[At(wire.to)];
    const double x = centres_[At(wire.lane)];
    GraphWire points = {{from.centre(), from.bottom()}};
    if (lanes_[At(wire.from)] != wire.lane) {
      const double track = TrackBelow(wire.from);
      points.push_back({from.centre(), track});
      points.push_back({x, track});
    }
    if (!wire.side) {
      points.push_back({x, to.y});
    } else if (CanEnterFromSide(wire)) {
      points.push_back({x, EntryOf(wire)});
      points.push_back({to.right(), EntryOf(wire)});
    } else {
      const double above = to.y - 6, entry = to.centre() + to.width / 4;
      points.insert(points.end(), {{x, above}, {entry, above}, {entry, to.y}});
    }
    return points;
  }

  const std::vector<GraphNode>& nodes_;
  std::vector<int> rows_, lanes_, longest_;
  std::vector<std::pair<int, int>> pending_;
  int last_row_ = 0;
  std::vector<std::vector<std::pair<int, int>>> taken_;  // occupied rows, by lane
  std::vector<Wire> wires_;
  std::vector<double> centres_, tops_, ends_;
  GraphPanelPlan plan_;
};

}  // namespace

GraphPanelPlan ArrangePanel(const GraphPanel& panel) {
  return Arrangement(panel).Run();
}

}  // namespace vitrine
