// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/models/registry/version_status.h"
#include "server/pages/status.h"

namespace vitrine {
namespace {

constexpr char kStyle[] = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59626d; --line: #d5dae0; --ground: #ffffff; --band: #f4f6f8;
        --ok: #1a7f37; --degraded: #9a6700; --down: #cf222e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #9aa4af; --line: #363d46; --ground: #14171b; --band: #1d2126;
          --ok: #4ac26b; --degraded: #e0b040; --down: #ff7b72; }
}
body { margin: 0 auto; max-width: 72rem; padding: 1.25rem; font: 15px/1.45 system-ui, sans-serif; color: var(--ink);
       background: var(--ground); }
h1 { font-size: 1.3rem; margin: 0; padding: .9rem 1.1rem; border-left: .5rem solid; background: var(--band); }
h1.ok { border-color: var(--ok); } h1.degraded { border-color: var(--degraded); } h1.down { border-color: var(--down); }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
ul.problems { margin: .6rem 0 0; padding-left: 1.4rem; }
p.facts { color: var(--soft); margin: .6rem 0 0; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .85rem; }
th, td { padding: .28rem .8rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
         overflow-wrap: break-word; }
td:last-child { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.name { white-space: nowrap; }
.ok { color: var(--ok); } .degraded { color: var(--degraded); } .down { color: var(--down); }
h1.ok, h1.degraded, h1.down { color: var(--ink); }
code { font: .85rem ui-monospace, monospace; }
)css";

// Text for an element or an attribute in double quotes.
std::string Escape(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else if (byte < 0x20 && c != '\n' && c != '\t') {
      escaped += "\xEF\xBF\xBD";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

const char* ClassOf(Severity severity) {
  return severity == Severity::kDown ? "down" : severity == Severity::kDegraded ? "degraded" : "ok";
}

std::string Bytes(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1 << 30) return absl::StrFormat("%.2f GiB", value / (1 << 30));
  if (value >= 1 << 20) return absl::StrFormat("%.1f MiB", value / (1 << 20));
  if (value >= 1 << 10) return absl::StrFormat("%.1f KiB", value / (1 << 10));
  return absl::StrCat(bytes, " B");
}

std::string Seconds(absl::Duration duration) {
  return duration == absl::ZeroDuration() ? "–" : absl::StrFormat("%.3g s", absl::ToDoubleSeconds(duration));
}

std::string Moment(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

// A table row by row; cells are escaped here and nowhere else.
class Table {
 public:
  struct Column {
    const char* name;
    bool number = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    html_ = "<div class=\"wide\"><table><tr>";
    for (const Column& column : columns_) {
      absl::StrAppend(&html_, "<th", column.number ? " class=\"number\"" : "", ">", column.name, "</th>");
    }
    html_ += "</tr>\n";
  }
  // `style` is a class of the first cell.
  void Row(const std::vector<std::string>& cells, const char* style = "name") {
    html_ += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      absl::StrAppend(&html_, "<td class=\"", columns_[i].number ? "number" : (i == 0 ? style : ""), "\">",
                      Escape(cells[i]), "</td>");
    }
    html_ += "</tr>\n";
  }
  std::string Html() const { return html_ + "</table></div>\n"; }

 private:
  const std::vector<Column> columns_;
  std::string html_;
};

std::string Head(const ServerStatus& status) {
  const Problem verdict = Verdict(status);
  const std::vector<Problem> problems = FindProblems(status);
  std::string html =
      absl::StrCat("<h1 class=\"", ClassOf(verdict.severity), "\">", Escape(verdict.sentence), "</h1>\n");
  if (problems.size() > 1) {
    html += "<ul class=\"problems\">\n";
    for (const Problem& problem : problems) {
      absl::StrAppend(&html, "<li class=\"", ClassOf(problem.severity), "\">", Escape(problem.sentence), "</li>\n");
    }
    html += "</ul>\n";
  }
  const absl::Duration up = absl::Trunc(status.now - status.started, absl::Seconds(1));
  std::vector<std::string> facts = {
      absl::StrCat("vitrine-server ", status.version, status.revision.empty() ? "" : " (" + status.revision + ")"),
      absl::StrCat("up ", absl::FormatDuration(up), ", since ", Moment(status.started)),
      absl::StrCat("device ", status.compute.device),
      absl::StrCat(status.compute.cpu, ", ", status.compute.path, ", ", status.compute.precision),
      absl::StrCat(status.executors.size(), status.executors.size() == 1 ? " lane" : " lanes")};
  if (status.machine.cores > 0) facts.push_back(absl::StrFormat("%.3g cores", status.machine.cores));
  if (status.machine.memory_bytes > 0)
    facts.push_back(absl::StrCat(Bytes(status.machine.memory_bytes), " memory limit"));
  for (const auto& [listener, expires] : status.certificates) {
    facts.push_back(absl::StrCat("certificate of ", listener, " until ", Moment(expires)));
  }
  absl::StrAppend(&html, "<p class=\"facts\">", Escape(absl::StrJoin(facts, " · ")), "<br>This page is of ",
                  Moment(status.now), ". Rates are of the last minute. <a href=\"?format=json\">As JSON</a></p>\n");
  return html;
}

std::string Versions(const ServerStatus& status) {
  if (status.versions.empty()) return "<p>No version is known.</p>\n";
  Table table({{"model"},
               {"version", true},
               {"state"},
               {"traffic", true},
               {"labels"},
               {"weights", true},
               {"requests/s", true},
               {"errors/s", true},
               {"why"}});
  for (const ServerStatus::Version& version : status.versions) {
    const std::string number = version.version == kWholeModel ? "–" : absl::StrCat(version.version);
    table.Row({version.model, number, version.state,
               version.state == "READY" ? absl::StrFormat("%.4g %%", version.traffic_percent) : "–",
               absl::StrJoin(version.labels, ", "), version.bytes > 0 ? Bytes(version.bytes) : "–",
               RateText(version.requests_per_second), RateText(version.errors_per_second), version.reason},
              version.state == "FAILED" ? "name down" : "name");
  }
  return table.Html();
}

std::string Models(const ServerStatus& status) {
  if (status.models.empty()) return "";
  Table table({{"model"}, {"requests/s", true}, {"refused because of load/s", true}, {"rollbacks", true}});
  for (const ServerStatus::Model& model : status.models) {
    table.Row({model.name, RateText(model.requests_per_second), RateText(model.shed_per_second),
               absl::StrCat(model.rollbacks + model.operator_rollbacks)},
              model.shed_per_second > 0 ? "name degraded" : "name");
  }
  return table.Html();
}

std::string Executors(const ServerStatus& status) {
  Table table({{"executor"}, {"busy", true}, {"age of its batch", true}});
  for (size_t i = 0; i < status.executors.size(); ++i) {
    table.Row({absl::StrCat(i), absl::StrFormat("%.0f %%", status.executors[i].busy_ratio * 100),
               Seconds(status.executors[i].batch_age)});
  }
  return table.Html();
}

std::string Queue(const ServerStatus& status) {
  Table table({{"what"}, {"now", true}, {"limit", true}});
  table.Row(
      {"requests admitted", absl::StrCat(status.admission.requests), absl::StrCat(status.admission.limit_requests)});
  table.Row({"their bytes", Bytes(status.admission.bytes), Bytes(status.admission.limit_bytes)});
  table.Row({"their work, as predicted", Seconds(status.admission.work), ""});
  table.Row({"requests that wait", absl::StrCat(status.queue.requests), ""});
  table.Row({"tokens that wait", absl::StrCat(status.queue.tokens), ""});
  table.Row({"oldest that waits", Seconds(status.queue.oldest), ""});
  if (status.answers.limit > 0) {
    table.Row({"answers not yet taken", Bytes(status.answers.bytes), Bytes(status.answers.limit)});
  }
  return table.Html();
}

std::string Log(const ServerStatus& status) {
  if (status.log.empty()) return "<p>None since the start.</p>\n";
  Table table({{"time"}, {"level"}, {"line"}});
  for (const LogLine& line : status.log) {
    const bool is_warning = line.level == spdlog::level::warn;
    table.Row({Moment(line.time), is_warning ? "warning" : "error", line.text},
              is_warning ? "name degraded" : "name down");
  }
  return table.Html();
}

std::string Flags(const ServerStatus& status) {
  Table table({{"flag"}, {"value"}});
  for (const auto& [flag, value] : status.flags) table.Row({flag, value});
  return table.Html();
}

}  // namespace

std::string StatusHtml(const ServerStatus& status) {
  const auto section = [](const char* title, const std::string& html) {
    return absl::StrCat("<h2>", title, "</h2>\n", html);
  };
  return absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                      "<title>vitrine-server: ", ClassOf(Verdict(status).severity), "</title>\n<style>", kStyle,
                      "</style></head><body>\n", Head(status), section("Versions", Versions(status)),
                      section("Models", Models(status)), section("Executors", Executors(status)),
                      section("Requests in flight", Queue(status)), section("Last warnings and errors", Log(status)),
                      section("Flags in force", Flags(status)), "</body></html>\n");
}

}  // namespace vitrine
