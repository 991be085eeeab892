// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/study_differences.h"

#include "absl/strings/str_cat.h"
#include "client/eval/compare/compare.h"
#include "client/eval/page/page_sections.h"
#include "common/statistics/holm.h"
#include "common/statistics/significance.h"

namespace vitrine {
namespace {

// All cells use one data set, so an index identifies the same image in all cells.
PairedCounts PairsOf(const StudyCell& first, const StudyCell& second) {
  PairedCounts counts;
  for (const auto& [index, right] : second.right) {
    const auto found = first.right.find(index);
    if (found == first.right.end()) continue;
    ++(found->second ? (right ? counts.both : counts.only_first) : (right ? counts.only_second : counts.neither));
  }
  return counts;
}

}  // namespace

size_t FirstMeasured(const Study& study) {
  size_t first = 0;
  while (first < study.cells.size() && !study.cells[first].measured()) ++first;
  return first;
}

std::vector<std::optional<StudyDifference>> DifferencesOf(const Study& study) {
  std::vector<std::optional<StudyDifference>> differences(study.cells.size());
  const size_t first = FirstMeasured(study);
  std::vector<double> p;
  for (size_t i = first + 1; i < study.cells.size(); ++i) {
    const PairedCounts counts = PairsOf(study.cells[first], study.cells[i]);
    if (counts.all() == 0) continue;
    differences[i] = {
        .counts = counts, .interval = PairedDifferenceInterval(counts), .test = TestMcNemar(counts), .holm = 1};
    p.push_back(differences[i]->test.p);
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  size_t next = 0;
  for (std::optional<StudyDifference>& difference : differences) {
    if (difference.has_value()) difference->holm = adjusted[next++];
  }
  return differences;
}

DataTable DifferencesTable(const Study& study) {
  DataTable table({{"model", "MODEL"},
                   {"size", "SIZE"},
                   {"pictures", "IMAGES", true},
                   {"difference", "DIFFERENCE", true},
                   {"low", "95 % FROM", true},
                   {"high", "TO", true},
                   {"p", "P", true},
                   {"p_holm", "P, HOLM", true},
                   {"shown", "SHOWN"}});
  const std::vector<std::optional<StudyDifference>> differences = DifferencesOf(study);
  for (size_t i = 0; i < differences.size(); ++i) {
    if (!differences[i].has_value()) continue;
    const StudyDifference& of = *differences[i];
    const StudyCell& cell = study.cells[i];
    const double difference = PairedDifference(of.counts);
    const auto share = [](double value) { return Cell::Number(value, PointsText(value)); };
    table.Add({Cell::Text(absl::StrCat(cell.model, " version ", cell.version)), Cell::Text(cell.resolution),
               Cell::Count(of.counts.all()), share(difference), share(of.interval.low), share(of.interval.high),
               Cell::Number(of.test.p, PText(of.test.p)), Cell::Number(of.holm, PText(of.holm)),
               Cell::Text(of.holm >= kSignificantP ? "no difference"
                          : difference > 0         ? "better"
                                                   : "worse")});
  }
  return table;
}

}  // namespace vitrine
