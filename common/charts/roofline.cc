// SPDX-License-Identifier: Apache-2.0
#include "common/charts/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/charts/html/html.h"

namespace vitrine {
namespace {

constexpr double kRooflineWidth = 1120, kRooflineHeight = 680, kBesideRoofs = 220;
constexpr double kRooflineGlyph = 6.6;

// Indexed by RooflineGroup; the index is also the series colour.
constexpr const char* kGroups[] = {
    "linear", "convolution", "norm", "attention, product", "GELU, ReLU, softmax", "add, scale, pool"};

std::string ColourOfGroup(RooflineGroup group) {
  return absl::StrCat("series-", static_cast<int>(group));
}

struct Box {
  double left, top, right, bottom;
  bool Meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class RooflineDiagram {
 public:
  explicit RooflineDiagram(const Roofline& roofline) : roofline_(roofline) {
    ridge_ = roofline.peak_gflops / roofline.gigabytes_per_second;
    double x_low = ridge_ / 4, x_high = ridge_ * 4, y_low = roofline.peak_gflops / 4, y_high = roofline.peak_gflops;
    for (const RooflinePoint& point : roofline.points) {
      if (point.intensity <= 0 || point.gflops <= 0) continue;
      points_.push_back(point);
      x_low = std::min(x_low, point.intensity);
      x_high = std::max(x_high, point.intensity);
      y_low = std::min(y_low, point.gflops);
      y_high = std::max(y_high, point.gflops);
    }
    constexpr double kRoom = 2.2;  // factor by which both axes extend beyond the smallest and the largest value
    chart_ = {.width = kRooflineWidth,
              .height = kRooflineHeight,
              .title = roofline.title,
              .x_axis = "arithmetic intensity, FLOP per byte",
              .y_axis = roofline.measured ? "GFLOP/s reached" : "GFLOP/s at most",
              .note = roofline.subtitle,
              .x = {.low = x_low / kRoom, .high = x_high * kRoom, .logarithmic = true},
              .y = {.low = y_low / kRoom, .high = y_high * kRoom, .logarithmic = true},
              .top = roofline.circumstances.empty() ? 56.0 : 74.0,
              .margin = kBesideRoofs,
              .x_grid = true,
              .is_file = true};
    std::stable_sort(points_.begin(), points_.end(),
                     [](const RooflinePoint& a, const RooflinePoint& b) { return a.share > b.share; });
  }

  std::string Draw() {
    svg_ = chart_.Begin();
    svg_ += SvgText(chart_.Left(), 55, roofline_.circumstances,
                    roofline_.doubtful ? absl::StrCat("font-size=\"11\" font-weight=\"bold\" ", Fill("bad"))
                                       : absl::StrCat("font-size=\"11\" ", Fill("faint")));
    DrawRoofs();
    DrawPoints();
    DrawGroups();
    if (roofline_.measured) DrawShares();
    return svg_ + Chart::End();
  }

 private:
  static std::string Fill(const std::string& colour) { return absl::StrCat("style=\"fill:", ColourOf(colour), "\""); }
  double X(double intensity) const { return chart_.x.Place(intensity); }
  double Y(double gflops) const { return chart_.y.Place(gflops); }
  static double Radius(const RooflinePoint& point) { return 3.5 + 11 * std::sqrt(point.share); }

  void DrawRoofs() {
    const double low = std::max(chart_.x.low, chart_.y.low / roofline_.gigabytes_per_second);
    const double x1 = X(low), y1 = Y(low * roofline_.gigabytes_per_second);
    const double x2 = X(ridge_), y2 = Y(roofline_.peak_gflops);
    svg_ +=
        absl::StrFormat("<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" %s stroke-width=\"2.2\"/>\n",
                        x1, y1, x2, y2, chart_.Right(), y2, Stroke("ink"));
    const std::string peak = absl::StrFormat("%.0f GFLOP/s, %s", roofline_.peak_gflops, roofline_.peak_of);
    svg_ += SvgText(chart_.Right() - 8, y2 - 8, peak, "text-anchor=\"end\" font-weight=\"bold\"");
    AddObstacle({chart_.Right() - 16 - kRooflineGlyph * static_cast<double>(peak.size()) * 1.12, y2 - 22,
                 chart_.Right(), y2 - 2});
    const std::string memory = absl::StrFormat("%.1f GB/s, %s", roofline_.gigabytes_per_second, roofline_.bandwidth_of);
    const double angle = std::atan2(y2 - y1, x2 - x1);
    const double at = 0.42;
    const double x = x1 + at * (x2 - x1), y = y1 + at * (y2 - y1);
    svg_ += absl::StrFormat(
        "<text transform=\"translate(%.1f %.1f) rotate(%.2f)\" y=\"-8\" text-anchor=\"middle\" "
        "font-weight=\"bold\">%s</text>\n",
        x, y, angle * 180 / M_PI, EscapeHtml(memory));
    const double half = kRooflineGlyph * 1.12 * static_cast<double>(memory.size()) / 2;
    constexpr int kSteps = 12;
    for (int i = 0; i <= kSteps; ++i) {
      const double along = -half + 2 * half * i / kSteps;
      const double bx = x + along * std::cos(angle) + 12 * std::sin(angle);
      const double by = y + along * std::sin(angle) - 12 * std::cos(angle);
      AddObstacle({bx - 9, by - 9, bx + 9, by + 9});
    }
    constexpr int kSamples = 160;
    for (int i = 0; i <= kSamples; ++i) {
      const double part = static_cast<double>(i) / kSamples;
      const double lx = x1 + part * (x2 - x1), ly = y1 + part * (y2 - y1);
      AddObstacle({lx - 2, ly - 2, lx + 2, ly + 2});
    }
    AddObstacle({x2, y2 - 2, chart_.Right(), y2 + 2});
  }

  void AddObstacle(const Box& box) { obstacles_.push_back(box); }

  bool Free(const Box& box) const {
    if (box.left < chart_.Left() + 2 || box.right > chart_.Right() - 2 || box.top < chart_.Top() + 2 ||
        box.bottom > chart_.Bottom() - 2)
      return false;
    return std::none_of(obstacles_.begin(), obstacles_.end(), [&](const Box& other) { return box.Meets(other); });
  }

  // Returns the nearest free space for a label of this width: beside the dot, then on circles around it.
  std::optional<Box> PlaceFor(double x, double y, double radius, double width) const {
    constexpr double kTextHeight = 13;
    for (double distance = radius + 3; distance < radius + 150; distance += 6) {
      constexpr int kDirections = 16;
      for (int i = 0; i < kDirections; ++i) {
        // Order of directions: right, left, below, above, then the directions between these four.
        static constexpr std::array<int, kDirections> kOrder = {0, 8, 4, 12, 2, 14, 6, 10, 1, 15, 3, 13, 5, 11, 7, 9};
        const double angle = kOrder[static_cast<size_t>(i)] * 2 * M_PI / kDirections;
        const double cx = x + distance * std::cos(angle), cy = y + distance * std::sin(angle);
        const double left = std::cos(angle) > 0.3 ? cx : std::cos(angle) < -0.3 ? cx - width : cx - width / 2;
        const Box box{left, cy - kTextHeight / 2, left + width, cy + kTextHeight / 2};
        if (Free(box)) return box;
      }
    }
    return std::nullopt;
  }

  // Returns true if two points have the same colour and nearly cover each other; they then share one label.
  static bool Together(const RooflinePoint& a, const RooflinePoint& b, double dx, double dy) {
    return a.group == b.group && std::hypot(dx, dy) < 5;
  }

  // Returns the label of a point: its name and the names of points that share the label. Returns "" if an earlier point
  // already has this label. Also returns "" if there are many points and this point has a negligible share of the time.
  std::string LabelOf(size_t index) const {
    constexpr double kLeastShare = 0.0025;
    const RooflinePoint& point = points_[index];
    if (roofline_.measured && points_.size() > 16 && point.share < kLeastShare) return "";
    std::string label = point.label;
    int more = 0;
    for (size_t i = 0; i < points_.size(); ++i) {
      const RooflinePoint& other = points_[i];
      if (i == index ||
          !Together(point, other, X(point.intensity) - X(other.intensity), Y(point.gflops) - Y(other.gflops)))
        continue;
      if (i < index) return "";
      if (roofline_.measured && points_.size() > 16 && other.share < kLeastShare) continue;
      if (++more == 1) absl::StrAppend(&label, ", ", other.label);
    }
    return more > 1 ? absl::StrCat(label, " +", more - 1) : label;
  }

  void DrawPoints() {
    for (const RooflinePoint& point : points_) {
      const double x = X(point.intensity), y = Y(point.gflops), r = Radius(point);
      AddObstacle({x - r, y - r, x + r, y + r});
    }
    std::string labels;
    for (size_t i = 0; i < points_.size(); ++i) {
      const RooflinePoint& point = points_[i];
      const double x = X(point.intensity), y = Y(point.gflops), r = Radius(point);
      absl::StrAppendFormat(
          &svg_,
          "<circle class=\"operator\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" style=\"fill:%s;stroke:%s\" "
          "fill-opacity=\"0.75\"><title>%s: %.3g FLOP/B, %.3g GFLOP/s, %.1f %% of the time</title></circle>\n",
          x, y, r, ColourOf(ColourOfGroup(point.group)), ColourOf("paper"), EscapeHtml(point.label), point.intensity,
          point.gflops, 100 * point.share);
      if (const std::string label = LabelOf(i); !label.empty()) {
        labels += Label(label, x, y, r, ColourOfGroup(point.group));
      }
    }
    svg_ += labels;
  }

  // Returns the label, with a line to the dot if the label is not beside it; "" if there is no room.
  std::string Label(const std::string& label, double x, double y, double radius, const std::string& colour) {
    const auto box = PlaceFor(x, y, radius, kRooflineGlyph * static_cast<double>(label.size()));
    if (!box) return "";
    AddObstacle({box->left - 2, box->top - 1, box->right + 2, box->bottom + 1});
    const double nx = std::clamp(x, box->left, box->right), ny = std::clamp(y, box->top, box->bottom);
    const double gap = std::hypot(nx - x, ny - y);
    std::string leader;
    if (gap > radius + 8) {
      leader = SvgLine(x + (nx - x) * radius / gap, y + (ny - y) * radius / gap, nx, ny,
                       absl::StrCat(Stroke(colour), " stroke-width=\"0.8\""));
    }
    return leader + absl::StrFormat(
                        "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" "
                        "%s>%s</text>\n",
                        box->left, box->bottom - 3, box->right - box->left, Fill(colour), EscapeHtml(label));
  }

  // Draws the legend of the groups' colours beside the plot.
  void DrawGroups() {
    beside_ = chart_.Top() + 14;
    svg_ += SvgText(BesideX(), beside_, "operators", "font-weight=\"bold\"");
    for (size_t i = 0; i < std::size(kGroups); ++i) {
      const auto group = static_cast<RooflineGroup>(i);
      if (std::none_of(points_.begin(), points_.end(), [&](const auto& point) { return point.group == group; }))
        continue;
      beside_ += 22;
      absl::StrAppendFormat(&svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" %s fill-opacity=\"0.75\"/>\n",
                            BesideX() + 7, beside_ - 4, Fill(ColourOfGroup(group)));
      svg_ += SvgText(BesideX() + 22, beside_, kGroups[i], "");
    }
  }

  void DrawShares() {
    beside_ += 40;
    svg_ += SvgText(BesideX(), beside_, "share of the time", "font-weight=\"bold\"");
    for (const double share : {0.01, 0.1, 0.3}) {
      beside_ += 24;
      absl::StrAppendFormat(&svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" %s fill-opacity=\"0.5\"/>\n",
                            BesideX() + 10, beside_ - 4, 3.5 + 11 * std::sqrt(share), Fill("faint"));
      svg_ += SvgText(BesideX() + 28, beside_, absl::StrFormat("%.0f %%", 100 * share), "");
    }
    if (points_.size() > 16) svg_ += SvgText(BesideX(), beside_ += 30, "below 0.25 %: no name", Fill("faint"));
    if (!std::any_of(points_.begin(), points_.end(), [&](const auto& point) { return BeatsMemory(point); })) return;
    beside_ += 18;
    for (const char* line : {"above the slanted roof:", "operands that stayed", "in a nearer cache"}) {
      svg_ += SvgText(BesideX(), beside_ += 16, line, Fill("faint"));
    }
  }

  double BesideX() const { return chart_.Right() + 26; }

  bool BeatsMemory(const RooflinePoint& point) const {
    constexpr double kClearly = 1.02;
    return point.gflops > kClearly * point.intensity * roofline_.gigabytes_per_second;
  }

  const Roofline& roofline_;
  double ridge_ = 1;
  Chart chart_;
  double beside_ = 0;  // y of the lowest line drawn beside the plot
  std::vector<RooflinePoint> points_;
  std::vector<Box> obstacles_;
  std::string svg_;
};

}  // namespace

std::string RooflineSvg(const Roofline& roofline) {
  return RooflineDiagram(roofline).Draw();
}

}  // namespace vitrine
