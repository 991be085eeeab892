// SPDX-License-Identifier: Apache-2.0
#include "client/load/report/load_output.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Removes the files that an earlier run wrote for its points, because its rates may differ.
void RemoveEarlier(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> earlier;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_ours = ((name.starts_with("latency.") || name.starts_with("latency-")) && name.ends_with(".hgrm")) ||
                         ((name.starts_with("seconds.") || name.starts_with("seconds-")) && name.ends_with(".csv"));
    if (is_ours) earlier.push_back(entry.path());
  }
  for (const std::filesystem::path& path : earlier) std::filesystem::remove(path, error);
}

}  // namespace

std::string LoadJson(const LoadReport& report, int indent) {
  return ReportJson(report).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

absl::Status WriteLoadFiles(const LoadReport& report, const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  RemoveEarlier(folder);
  const auto path = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  RETURN_IF_ERROR(WriteFile(path("load.json"), LoadJson(report, 1)));
  RETURN_IF_ERROR(WriteFile(path("load.html"), LoadPage(report)));
  for (size_t i = 0; i < report.points.size(); ++i) {
    const LoadPoint& point = report.points[i];
    const std::string suffix = report.points.size() == 1 ? "" : absl::StrFormat("-%02d-%.0f", i + 1, point.offered);
    RETURN_IF_ERROR(WriteFile(path("latency" + suffix + ".hgrm"), point.result.record.latency().PercentileTable()));
    RETURN_IF_ERROR(WriteFile(path("seconds" + suffix + ".csv"), TimelineCsv(point)));
  }
  return absl::OkStatus();
}

void PrintLoad(const LoadReport& report, std::ostream& out) {
  const LoadSetting& setting = report.setting;
  const auto counted = [](int count, const char* what) {
    return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
  };
  out << absl::StrFormat("%s: %s; %s; %s mode, %s, %s, %g s warm-up\n\n", setting.server, setting.loop, setting.load,
                         ModeName(setting.mode), counted(setting.connections, "connection"),
                         counted(setting.threads, "thread"), setting.warm_up_seconds);
  if (report.verdict.empty()) {
    out << PointText(setting, report.points.front());
  } else {
    out << PointsTable(report) << "\n" << report.verdict << "\n";
  }
  out << GatesText(report.gates) << std::flush;
}

bool PrintMisses(const LoadReport& report, std::ostream& errors) {
  for (const GateResult& result : report.gates) {
    if (!result.passed()) errors << "vitrine: " << MissInWords(result) << "\n";
  }
  errors << std::flush;
  return !AllPassed(report.gates);
}

}  // namespace vitrine
