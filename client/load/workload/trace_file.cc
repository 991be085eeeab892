// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/trace_file.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/commands/images.h"
#include "common/data/csv.h"
#include "common/data/file.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr size_t kMaxLines = 10'000'000;
constexpr int64_t kMaxBytes = int64_t{2} << 30;
constexpr size_t kMaxClasses = 1000;  // each class has its own record
constexpr double kMaxSeconds = 7 * 24 * 3600;
constexpr char kColumns[] = "seconds, model, picture, resolution, priority, deadline";

using Fields = std::vector<std::pair<std::string, std::string>>;  // names and values of one line

bool IsColumn(absl::string_view name) {
  for (const absl::string_view known : {"seconds", "model", "picture", "resolution", "priority", "deadline"}) {
    if (name == known) return true;
  }
  return false;
}

absl::StatusOr<Fields> JsonFields(absl::string_view line) {
  const nlohmann::json object = nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("is no JSON object");
  Fields fields;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    if (!value.is_string() && !value.is_number()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is neither text nor a number"));
    }
    if (value.is_number() && name != "seconds") {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" must be text"));
    }
    // Numbers keep their values, because a double's shortest form is parsed to the same double.
    fields.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return fields;
}

absl::StatusOr<int64_t> ParseSeconds(absl::string_view text) {
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0) || seconds > kMaxSeconds) {
    return absl::InvalidArgumentError(absl::StrCat("seconds \"", text, "\" is no number from 0 to a week"));
  }
  return static_cast<int64_t>(std::llround(seconds * 1e9));
}

// Collects the lines of a trace. Lines with equal settings share a class.
class TraceBuilder {
 public:
  TraceBuilder(std::string folder, const RequestClass& defaults) : folder_(std::move(folder)), defaults_(defaults) {}

  absl::Status Add(const Fields& fields) {
    RequestClass request_class = defaults_;
    if (!defaults_.images.empty()) {
      request_class.images = {defaults_.images[trace_.arrivals.size() % defaults_.images.size()]};
    }
    std::optional<int64_t> due;
    for (const auto& [name, value] : fields) {
      if (!IsColumn(name)) return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is none of ", kColumns));
      if (name == "seconds") {
        ASSIGN_OR_RETURN(due, ParseSeconds(value));
      } else if (!value.empty()) {
        RETURN_IF_ERROR(Set(name, value, request_class));
      }
    }
    if (!due.has_value()) return absl::InvalidArgumentError("\"seconds\" is missing");
    if (!trace_.arrivals.empty() && *due < trace_.arrivals.back().due) {
      return absl::InvalidArgumentError("its seconds are below those of the line above; sort the trace by time");
    }
    if (trace_.arrivals.size() == kMaxLines) return absl::InvalidArgumentError("the trace is longer than 10,000,000");
    ASSIGN_OR_RETURN(const uint32_t request, Request(std::move(request_class)));
    trace_.arrivals.push_back({*due, trace_.arrivals.size(), request});
    return absl::OkStatus();
  }

  Trace Take() { return std::move(trace_); }

 private:
  absl::Status Set(const std::string& name, const std::string& value, RequestClass& request_class) const {
    if (name != "picture") return SetClassField(name, value, request_class);
    request_class.images = {(std::filesystem::path(folder_) / value).string()};
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> Request(RequestClass request_class) {
    const std::string image = request_class.images.empty() ? "" : request_class.images.front();
    request_class.images.clear();
    const auto [one, new_class] =
        classes_.emplace(request_class.Description(), static_cast<uint32_t>(trace_.classes.size()));
    if (new_class) trace_.classes.push_back(std::move(request_class));
    if (trace_.classes.size() > kMaxClasses) {
      return absl::InvalidArgumentError(
          absl::StrCat("has a new request class after ", kMaxClasses,
                       " others: at most that many combinations of model, resolution, priority "
                       "and deadline are possible"));
    }
    const auto [place, added] =
        requests_.emplace(std::pair(one->second, image), static_cast<uint32_t>(trace_.requests.size()));
    if (added) trace_.requests.push_back({one->second, image});
    return place->second;
  }

  const std::string folder_;
  const RequestClass& defaults_;
  Trace trace_;
  std::map<std::string, uint32_t> classes_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> requests_;  // by class and image
};

absl::Status AtLine(int64_t line, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", status.message()));
}

absl::Status ReadCsv(absl::string_view text, TraceBuilder& builder) {
  ASSIGN_OR_RETURN(const std::vector<CsvRow> rows, ParseCsv(std::string_view(text.data(), text.size())));
  if (rows.empty()) return absl::OkStatus();
  std::vector<std::string> columns;
  for (const std::string& cell : rows[0].cells) {
    columns.emplace_back(absl::StripAsciiWhitespace(cell));
    if (IsColumn(columns.back())) continue;
    return AtLine(rows[0].line,
                  absl::InvalidArgumentError(absl::StrCat("column \"", columns.back(), "\" is none of ", kColumns)));
  }
  for (size_t row = 1; row < rows.size(); ++row) {
    const auto& [cells, line] = rows[row];
    if (cells.size() != columns.size()) {
      return AtLine(line, absl::InvalidArgumentError(
                              absl::StrCat("has ", cells.size(), " fields where the header has ", columns.size())));
    }
    Fields fields;
    for (size_t i = 0; i < columns.size(); ++i) fields.emplace_back(columns[i], absl::StripAsciiWhitespace(cells[i]));
    RETURN_IF_ERROR(AtLine(line, builder.Add(fields)));
  }
  return absl::OkStatus();
}

absl::Status ReadJsonLines(absl::string_view text, TraceBuilder& builder) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
    if (line.empty()) continue;
    const auto fields = JsonFields(line);
    RETURN_IF_ERROR(AtLine(number, fields.status()));
    RETURN_IF_ERROR(AtLine(number, builder.Add(*fields)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Trace> ParseTrace(absl::string_view text, const std::string& folder, const RequestClass& defaults) {
  RequestClass expanded = defaults;
  if (!defaults.images.empty()) {
    ASSIGN_OR_RETURN(FoundImages found, FindImages(defaults.images));
    expanded.images = std::move(found.paths);
  }
  TraceBuilder builder(folder, expanded);
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  RETURN_IF_ERROR(start.substr(0, 1) == "{" ? ReadJsonLines(text, builder) : ReadCsv(text, builder));
  Trace trace = builder.Take();
  if (trace.arrivals.empty()) return absl::InvalidArgumentError("the trace holds no request");
  return trace;
}

absl::StatusOr<Trace> ReadTrace(const std::string& path, const RequestClass& defaults) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxBytes));
  auto trace = ParseTrace(text, std::filesystem::path(path).parent_path().string(), defaults);
  if (!trace.ok()) return absl::Status(trace.status().code(), absl::StrCat(path, ": ", trace.status().message()));
  return trace;
}

}  // namespace vitrine
