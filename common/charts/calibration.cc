// SPDX-License-Identifier: Apache-2.0
#include "common/charts/calibration.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/chart.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

void Calibration::Add(double confidence, bool correct) {
  const double bins = static_cast<double>(bins_.size());
  const double index = std::ceil(confidence * bins) - 1;
  Bin& bin = bins_[static_cast<size_t>(std::clamp(index, 0.0, bins - 1))];
  ++bin.answers;
  bin.correct += correct ? 1 : 0;
  bin.confidence_sum += confidence;
}

int64_t Calibration::answers() const {
  int64_t answers = 0;
  for (const Bin& bin : bins_) answers += bin.answers;
  return answers;
}

double Calibration::ExpectedError() const {
  double sum = 0;
  for (const Bin& bin : bins_) sum += std::abs(static_cast<double>(bin.correct) - bin.confidence_sum);
  return sum / static_cast<double>(std::max<int64_t>(1, answers()));
}

double Calibration::Overconfidence() const {
  double sum = 0;
  for (const Bin& bin : bins_) sum += bin.confidence_sum - static_cast<double>(bin.correct);
  return sum / static_cast<double>(std::max<int64_t>(1, answers()));
}

std::string DrawReliability(const Calibration& calibration, const std::string& title) {
  constexpr double kCountsHeight = 48, kCountsTop = 344;
  Chart chart{.width = 620,
              .height = 420,
              .title = title,
              .x_axis = "",
              .y_axis = "accuracy in %",
              .x = {.low = 0, .high = 100},
              .y = {.low = 0, .high = 100}};
  chart.height = 370;  // the counts are drawn below the diagram
  std::string svg = chart.Begin();
  svg.replace(svg.find("0 0 620 370"), 11, "0 0 620 440");
  const std::vector<Calibration::Bin>& bins = calibration.bins();
  int64_t most = 1;
  for (const auto& bin : bins) most = std::max(most, bin.answers);
  const double width = (chart.Right() - chart.Left()) / static_cast<double>(bins.size());
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].answers == 0) continue;
    const double left = chart.Left() + width * static_cast<double>(i);
    const std::string tip =
        absl::StrFormat("<title>confidence %.1f %%: accuracy %.1f %% of %s answers</title>", 100 * bins[i].confidence(),
                        100 * bins[i].accuracy(), WithSeparators(bins[i].answers));
    const auto bar = [&](double top, double bottom, const char* colour) {
      absl::StrAppendFormat(&svg,
                            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" style=\"fill:%s\">%s</rect>\n",
                            left + 1, top, width - 2, bottom - top, ColourOf(colour), tip);
    };
    bar(chart.y.Place(100 * bins[i].accuracy()), chart.Bottom(), "series-0");
    const double share = std::max(0.03, static_cast<double>(bins[i].answers) / static_cast<double>(most));
    bar(kCountsTop + kCountsHeight * (1 - share), kCountsTop + kCountsHeight, "series-5");
    absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" style=\"fill:%s\">%s</circle>\n",
                          chart.x.Place(100 * bins[i].confidence()), chart.y.Place(100 * bins[i].accuracy()),
                          ColourOf("series-1"), tip);
  }
  absl::StrAppendFormat(
      &svg, "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke-dasharray=\"5 4\" style=\"stroke:%s\"/>\n",
      chart.Left(), chart.Bottom(), chart.Right(), chart.Top(), ColourOf("ink"));
  const std::string faint = absl::StrCat("style=\"fill:", ColourOf("faint"), "\"");
  svg += SvgText(chart.Left() - 8, kCountsTop + kCountsHeight / 2 + 4, "answers",
                 absl::StrCat(faint, " text-anchor=\"end\""));
  svg += SvgText((chart.Left() + chart.Right()) / 2, kCountsTop + kCountsHeight + 24,
                 "confidence in %; a dot at the mean of each bin, dashed: right as often as sure",
                 absl::StrCat(faint, " text-anchor=\"middle\""));
  return svg + Chart::End();
}

}  // namespace vitrine
