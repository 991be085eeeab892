// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_check/report.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

void CheckReport::Run(const std::string& check, const std::function<absl::StatusOr<std::string>()>& run) {
  const absl::Time begin = absl::Now();
  const absl::StatusOr<std::string> figures = run();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  failures_ += figures.ok() ? 0 : 1;
  const char* const result = figures.ok() ? "ok" : "FAILED";
  const std::string text = figures.ok() ? *figures : std::string(figures.status().message());
  rows_.push_back({check, result, text, absl::StrFormat("%.2f", seconds)});
  std::printf("%-7s %-30s %s\n", result, check.c_str(), text.c_str());
  std::fflush(stdout);
}

void CheckReport::Add(const std::string& title, const std::string& note, const HtmlTable& table) {
  std::vector<std::vector<std::string>> lines(1);
  std::vector<bool> right;
  for (const HtmlTable::Column& column : table.columns) {
    lines.front().push_back(column.heading);
    right.push_back(column.right);
  }
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::printf("\n%s\n%s%s%s\n", title.c_str(), note.c_str(), note.empty() ? "" : "\n", Aligned(lines, right).c_str());
  std::fflush(stdout);
  sections_.push_back({title, note, table});
}

std::string CheckReport::Page(const std::vector<std::pair<std::string, std::string>>& facts) const {
  std::string subtitle;
  for (const auto& [name, value] : facts) {
    absl::StrAppend(&subtitle, subtitle.empty() ? "" : "; ", name.empty() ? "" : name + " ", value);
  }
  HtmlPage page("vitrine-gpu-check", subtitle);
  if (!rows_.empty()) {
    page.KeyFigures({{"checks passed", absl::StrCat(checks() - failures_), absl::StrCat("of ", checks())},
                     {"failed", absl::StrCat(failures_), ""}});
    page.Section("Checks", "A difference is relative to the largest value that the CPU computes.");
    page.Table({.columns = {{"check"}, {"result"}, {"figures"}, {"s", true}}, .rows = rows_});
  }
  for (const Section& section : sections_) {
    page.Section(section.title, section.note);
    page.Table(section.table);
  }
  return page.Print();
}

}  // namespace vitrine
