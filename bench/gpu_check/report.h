// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_GPU_CHECK_REPORT_H_
#define VITRINE_BENCH_GPU_CHECK_REPORT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/charts/html/html.h"

namespace vitrine {

// Prints a line for each check and a table for each measurement, and collects them for an HTML page.
class CheckReport {
 public:
  // Runs a check. `run` returns the check's figures if it passed, else the error.
  void Run(const std::string& check, const std::function<absl::StatusOr<std::string>()>& run);
  // Adds a section with a table, and prints the section as aligned text.
  void Add(const std::string& title, const std::string& note, const HtmlTable& table);

  int checks() const { return static_cast<int>(rows_.size()); }
  int failures() const { return failures_; }

  // Returns a self-contained page. `facts` are names and values: device, driver, program.
  std::string Page(const std::vector<std::pair<std::string, std::string>>& facts) const;

 private:
  struct Section {
    std::string title, note;
    HtmlTable table;
  };
  std::vector<std::vector<std::string>> rows_;  // check, result, figures, seconds
  std::vector<Section> sections_;
  int failures_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_BENCH_GPU_CHECK_REPORT_H_
