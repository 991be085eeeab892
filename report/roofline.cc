// SPDX-License-Identifier: Apache-2.0
#include "report/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/html.h"

namespace vitrine {
namespace {

constexpr double kRooflineWidth = 1120, kRooflineHeight = 680;
constexpr double kRooflineLeft = 84, kRooflineRight = 900, kRooflineTop = 96, kRooflineBottom = 608;  // of the plot
constexpr double kFontSize = 11.5, kRooflineGlyph = 6.3;
constexpr char kRooflineInk[] = "#1f2933";
constexpr char kRooflineFaint[] = "#e4e7eb";

struct Style {
  const char* name;
  const char* colour;
};
// By RooflineGroup.
constexpr Style kStyles[] = {
    {"linear", "#0072b2"}, {"attention, product", "#cc79a7"},  {"convolution", "#d55e00"},
    {"norm", "#009e73"},   {"GELU, ReLU, softmax", "#c48a00"}, {"add, scale, pool", "#6b7280"},
};

const Style& StyleOf(RooflineGroup group) {
  return kStyles[static_cast<size_t>(group)];
}

struct Box {
  double left, top, right, bottom;
  bool Meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

std::string Text(double x, double y, const std::string& text, const std::string& style) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, style, EscapeHtml(text));
}

std::string Line(double x1, double y1, double x2, double y2, const std::string& style) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

// "0.01", "20", "5k": what stands at a tick.
std::string TickText(double value) {
  return value >= 1000 ? absl::StrFormat("%gk", value / 1000) : absl::StrFormat("%g", value);
}

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
    x_low_ = std::log10(x_low / 2.2);
    x_high_ = std::log10(x_high * 2.2);
    y_low_ = std::log10(y_low / 2.2);
    y_high_ = std::log10(y_high * 2.2);
    std::stable_sort(points_.begin(), points_.end(),
                     [](const RooflinePoint& a, const RooflinePoint& b) { return a.share > b.share; });
  }

  std::string Draw() {
    svg_ = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"%.1f\" fill=\"%s\">\n"
        "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        kRooflineWidth, kRooflineHeight, kRooflineWidth, kRooflineHeight, kFontSize, kRooflineInk,
        EscapeHtml(roofline_.title));
    svg_ += Text(kRooflineLeft, 36, roofline_.title, "font-size=\"19\" font-weight=\"bold\"");
    svg_ += Text(kRooflineLeft, 58, roofline_.subtitle, "font-size=\"12.5\" fill=\"#52606d\"");
    svg_ += Text(kRooflineLeft, 78, roofline_.circumstances,
                 roofline_.doubtful ? "font-size=\"12.5\" font-weight=\"bold\" fill=\"#ba2525\""
                                    : "font-size=\"12.5\" fill=\"#52606d\"");
    DrawAxes();
    DrawRoofs();
    DrawPoints();
    DrawLegend();
    return svg_ + "</svg>\n";
  }

 private:
  double X(double intensity) const {
    return kRooflineLeft + (std::log10(intensity) - x_low_) / (x_high_ - x_low_) * (kRooflineRight - kRooflineLeft);
  }
  double Y(double gflops) const {
    return kRooflineBottom - (std::log10(gflops) - y_low_) / (y_high_ - y_low_) * (kRooflineBottom - kRooflineTop);
  }
  static double Radius(const RooflinePoint& point) { return 3.5 + 11 * std::sqrt(point.share); }

  // Calls `draw(value, at a power of ten)` for 1, 2 and 5 times every power within the limits.
  template <typename Draw>
  static void ForEachTick(double low, double high, const Draw& draw) {
    for (int power = static_cast<int>(std::floor(low)); power <= std::ceil(high); ++power) {
      for (const int digit : {1, 2, 5}) {
        const double value = digit * std::pow(10, power);
        if (std::log10(value) >= low && std::log10(value) <= high) draw(value, digit == 1);
      }
    }
  }

  void DrawAxes() {
    const auto grid = [](bool major) {
      return absl::StrCat("stroke=\"", major ? "#cbd2d9" : kRooflineFaint, "\" stroke-width=\"1\"");
    };
    ForEachTick(x_low_, x_high_, [&](double value, bool major) {
      svg_ += Line(X(value), kRooflineTop, X(value), kRooflineBottom, grid(major));
      svg_ += Text(X(value), kRooflineBottom + 18, TickText(value),
                   absl::StrCat("text-anchor=\"middle\"", major ? "" : " fill=\"#9aa5b1\" font-size=\"10\""));
    });
    ForEachTick(y_low_, y_high_, [&](double value, bool major) {
      svg_ += Line(kRooflineLeft, Y(value), kRooflineRight, Y(value), grid(major));
      svg_ += Text(kRooflineLeft - 8, Y(value) + 4, TickText(value),
                   absl::StrCat("text-anchor=\"end\"", major ? "" : " fill=\"#9aa5b1\" font-size=\"10\""));
    });
    svg_ += absl::StrFormat(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#7b8794\"/>\n",
        kRooflineLeft, kRooflineTop, kRooflineRight - kRooflineLeft, kRooflineBottom - kRooflineTop);
    svg_ += Text((kRooflineLeft + kRooflineRight) / 2, kRooflineBottom + 44, "arithmetic intensity, FLOP per byte",
                 "text-anchor=\"middle\" font-size=\"13\"");
    svg_ += absl::StrFormat(
        "<text transform=\"translate(26 %.1f) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\">%s</text>\n",
        (kRooflineTop + kRooflineBottom) / 2, roofline_.measured ? "GFLOP/s reached" : "GFLOP/s at most");
  }

  void DrawRoofs() {
    const double low = std::max(std::pow(10, x_low_), std::pow(10, y_low_) / roofline_.gigabytes_per_second);
    const double x1 = X(low), y1 = Y(low * roofline_.gigabytes_per_second);
    const double x2 = X(ridge_), y2 = Y(roofline_.peak_gflops);
    svg_ += absl::StrFormat(
        "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\"/>\n", x1,
        y1, x2, y2, kRooflineRight, y2, kRooflineInk);
    const std::string peak = absl::StrFormat("%.0f GFLOP/s, %s", roofline_.peak_gflops, roofline_.peak_of);
    svg_ += Text(kRooflineRight - 8, y2 - 8, peak, "text-anchor=\"end\" font-weight=\"bold\"");
    AddObstacle({kRooflineRight - 16 - kRooflineGlyph * static_cast<double>(peak.size()) * 1.12, y2 - 22,
                 kRooflineRight, y2 - 2});
    const std::string memory = absl::StrFormat("%.1f GB/s, %s", roofline_.gigabytes_per_second, roofline_.bandwidth_of);
    const double angle = std::atan2(y2 - y1, x2 - x1);
    const double at = 0.42;
    const double x = x1 + at * (x2 - x1), y = y1 + at * (y2 - y1);
    svg_ += absl::StrFormat(
        "<text transform=\"translate(%.1f %.1f) rotate(%.2f)\" y=\"-8\" text-anchor=\"middle\" "
        "font-weight=\"bold\">%s</text>\n",
        x, y, angle * 180 / M_PI, memory);
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
    AddObstacle({x2, y2 - 2, kRooflineRight, y2 + 2});
  }

  void AddObstacle(const Box& box) { obstacles_.push_back(box); }

  bool Free(const Box& box) const {
    if (box.left < kRooflineLeft + 2 || box.right > kRooflineRight - 2 || box.top < kRooflineTop + 2 ||
        box.bottom > kRooflineBottom - 2)
      return false;
    return std::none_of(obstacles_.begin(), obstacles_.end(), [&](const Box& other) { return box.Meets(other); });
  }

  // The nearest free place for a label of this width: beside the dot, then on circles around it.
  std::optional<Box> PlaceFor(double x, double y, double radius, double width) const {
    constexpr double kTextHeight = 13;
    for (double distance = radius + 3; distance < radius + 150; distance += 6) {
      constexpr int kDirections = 16;
      for (int i = 0; i < kDirections; ++i) {
        // Right, left, below, above, then between them.
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

  // Points of one colour that all but cover each other: one label serves them.
  static bool Together(const RooflinePoint& a, const RooflinePoint& b, double dx, double dy) {
    return a.group == b.group && std::hypot(dx, dy) < 5;
  }

  // The names of a point and of those that lie with it; empty if it lies with an earlier one, or where a crowd leaves
  // no room for what takes next to no time.
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
      const Style& group = StyleOf(point.group);
      svg_ += absl::StrFormat(
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.75\" stroke=\"#ffffff\"><title>%s: "
          "%.3g FLOP/B, %.3g GFLOP/s, %.1f %% of the time</title></circle>\n",
          x, y, r, group.colour, EscapeHtml(point.label), point.intensity, point.gflops, 100 * point.share);
      if (const std::string label = LabelOf(i); !label.empty()) labels += Label(label, x, y, r, group.colour);
    }
    svg_ += labels;
  }

  // The label, with a line to its dot where it stands apart; empty where there is no room.
  std::string Label(const std::string& label, double x, double y, double radius, const std::string& colour) {
    const auto box = PlaceFor(x, y, radius, kRooflineGlyph * static_cast<double>(label.size()));
    if (!box) return "";
    AddObstacle({box->left - 2, box->top - 1, box->right + 2, box->bottom + 1});
    const double nx = std::clamp(x, box->left, box->right), ny = std::clamp(y, box->top, box->bottom);
    const double gap = std::hypot(nx - x, ny - y);
    std::string leader;
    if (gap > radius + 8) {
      leader = Line(x + (nx - x) * radius / gap, y + (ny - y) * radius / gap, nx, ny,
                    absl::StrCat("stroke=\"", colour, "\" stroke-width=\"0.8\""));
    }
    return leader + absl::StrFormat(
                        "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" "
                        "fill=\"%s\">%s</text>\n",
                        box->left, box->bottom - 3, box->right - box->left, colour, EscapeHtml(label));
  }

  void DrawLegend() {
    constexpr double kX = kRooflineRight + 26;
    double y = kRooflineTop + 14;
    svg_ += Text(kX, y, "operators", "font-weight=\"bold\"");
    for (const Style& group : kStyles) {
      const bool used = std::any_of(points_.begin(), points_.end(),
                                    [&](const RooflinePoint& point) { return &StyleOf(point.group) == &group; });
      if (!used) continue;
      y += 22;
      svg_ += absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"%s\" fill-opacity=\"0.75\"/>\n", kX + 7,
                              y - 4, group.colour);
      svg_ += Text(kX + 22, y, group.name, "");
    }
    if (!roofline_.measured) return;
    y += 40;
    svg_ += Text(kX, y, "share of the time", "font-weight=\"bold\"");
    for (const double share : {0.01, 0.1, 0.3}) {
      y += 24;
      svg_ += absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#9aa5b1\"/>\n", kX + 10, y - 4,
                              3.5 + 11 * std::sqrt(share));
      svg_ += Text(kX + 28, y, absl::StrFormat("%.0f %%", 100 * share), "");
    }
    if (points_.size() > 16) svg_ += Text(kX, y += 30, "below 0.25 %: no name", "fill=\"#52606d\"");
    if (!std::any_of(points_.begin(), points_.end(), [&](const auto& point) { return BeatsMemory(point); })) return;
    y += 18;
    for (const char* line : {"above the slanted roof:", "operands that stayed", "in a nearer cache"}) {
      svg_ += Text(kX, y += 16, line, "fill=\"#52606d\"");
    }
  }

  bool BeatsMemory(const RooflinePoint& point) const {
    constexpr double kClearly = 1.02;
    return point.gflops > kClearly * point.intensity * roofline_.gigabytes_per_second;
  }

  const Roofline& roofline_;
  double ridge_ = 1;
  double x_low_ = 0, x_high_ = 1, y_low_ = 0, y_high_ = 1;  // powers of ten
  std::vector<RooflinePoint> points_;
  std::vector<Box> obstacles_;
  std::string svg_;
};

}  // namespace

std::string RooflineSvg(const Roofline& roofline) {
  return RooflineDiagram(roofline).Draw();
}

}  // namespace vitrine
