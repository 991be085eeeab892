// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/calibration.h"
#include "common/charts/confusion.h"
#include "common/charts/html/data_table.h"
#include "common/status_macros.h"
#include "trainer/watch/report/look.h"
#include "trainer/watch/report/report_sections.h"

namespace vitrine {
namespace {

constexpr int kPairs = 15;
constexpr int kWeakClasses = 15;

// Returns the classes with the lowest recall.
HtmlTable WeakClasses(const Confusion& confusion, const std::vector<std::string>& names) {
  std::vector<int> order;
  for (int i = 0; i < confusion.classes(); ++i) {
    if (confusion.OfLabel(i) > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](int i) { return confusion.Recall(i); });
  if (order.size() > kWeakClasses) order.resize(kWeakClasses);
  HtmlTable table{.columns = {{"class"}, {"recall", true}, {"precision", true}, {"images", true}}};
  for (const int i : order) {
    table.rows.push_back({names[static_cast<size_t>(i)], Percent(confusion.Recall(i)), Percent(confusion.Precision(i)),
                          WithSeparators(confusion.OfLabel(i))});
  }
  return table;
}

HtmlTable ConfusedPairs(const Confusion& confusion, const std::vector<std::string>& names) {
  HtmlTable table{.columns = {{"label"}, {"predicted as"}, {"times", true}, {"share of the label", true}}};
  for (const Confusion::Pair& pair : confusion.MostConfused(kPairs)) {
    const double share = static_cast<double>(pair.count) / static_cast<double>(confusion.OfLabel(pair.label));
    table.rows.push_back({names[static_cast<size_t>(pair.label)], names[static_cast<size_t>(pair.answer)],
                          WithSeparators(pair.count), Percent(share)});
  }
  return table;
}

}  // namespace

void AddConfusion(const TrainingReportInput& input, const Examination& examination, HtmlPage& page) {
  const Confusion& confusion = examination.confusion;
  const std::vector<std::string>& names = input.test->labels();
  std::string note = absl::StrCat(WithSeparators(examination.images), " of ", WithSeparators(input.test->size()), " ",
                                  input.score.split, " images, ", Percent(confusion.Accuracy()),
                                  " right, mean cross entropy ", absl::StrFormat("%.4f", examination.loss), ".");
  if (examination.unreadable > 0) {
    absl::StrAppend(&note, " ", examination.unreadable, " could not be decoded and were skipped.");
  }
  page.Section("Confusion", note);
  if (confusion.classes() <= kMostDrawnClasses) page.Charts({DrawConfusion(confusion, names)});
  page.Paragraph("Most frequent mistakes:");
  page.Table(ConfusedPairs(confusion, names));
  page.Paragraph(confusion.classes() > kWeakClasses
                     ? absl::StrCat("The ", kWeakClasses, " classes with the lowest recall:")
                     : "Classes, lowest recall first:");
  page.Table(WeakClasses(confusion, names));
}

void AddCalibration(const Examination& examination, HtmlPage& page) {
  const Calibration& calibration = examination.calibration;
  const double over = calibration.Overconfidence();
  page.Section(
      "Calibration",
      absl::StrFormat("Expected calibration error %.2f %% over %d bins; the mean confidence is %.2f points %s than "
                      "the accuracy.",
                      100 * calibration.ExpectedError(), calibration.bins().size(), 100 * std::abs(over),
                      over >= 0 ? "higher" : "lower"));
  page.Charts({DrawReliability(calibration)});
}

absl::Status AddMistakes(const TrainingReportInput& input, const Examination& examination, std::optional<Size> size,
                         HtmlPage& page) {
  const AttentionAbility::Offer* offer = SpatialAttention(input.model->attention());
  page.Section("Worst mistakes",
               examination.mistakes.empty() ? "None."
               : offer == nullptr
                   ? "Wrong answers, highest confidence first."
                   : "Wrong answers, highest confidence first, each with the attention of the last layer.");
  std::vector<ImageCard> cards;
  for (const Answer& mistake : examination.mistakes) {
    ImageCard& card = cards.emplace_back();
    ASSIGN_OR_RETURN(card.images, LookAt(*input.model, *input.test, mistake.index, size, 1));
    const std::vector<std::string>& names = input.test->labels();
    card.lines = {
        absl::StrFormat("%s, confidence %.1f %%", names[static_cast<size_t>(mistake.answer)], 100 * mistake.confidence),
        absl::StrFormat("label: %s, %.2g %%", names[static_cast<size_t>(mistake.label)],
                        100 * mistake.label_probability),
        input.test->name(mistake.index)};
  }
  page.Cards(cards);
  return absl::OkStatus();
}

}  // namespace vitrine
