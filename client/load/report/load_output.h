// SPDX-License-Identifier: Apache-2.0
// Output of `vitrine bench`: files, text and JSON of a report.
#ifndef VITRINE_CLIENT_LOAD_REPORT_LOAD_OUTPUT_H_
#define VITRINE_CLIENT_LOAD_REPORT_LOAD_OUTPUT_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/load/load_report.h"

namespace vitrine {

// Returns ReportJson as text with a final new line. If `indent` is -1, the text has one line.
std::string LoadJson(const LoadReport& report, int indent);

// Writes load.json, load.html, and, for each point, the percentiles and the counts per second, to the folder. A missing
// folder is created. Returns the errors of WriteFile and MakeFolder.
absl::Status WriteLoadFiles(const LoadReport& report, const std::string& folder);

// Prints the measured points and the gates as text.
void PrintLoad(const LoadReport& report, std::ostream& out);

// Prints a line for each missed gate. Returns true if a gate was missed.
bool PrintMisses(const LoadReport& report, std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_REPORT_LOAD_OUTPUT_H_
