// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/page.h"

#include <google/protobuf/text_format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/drawing/calibration_words.h"
#include "common/drawing/licence_words.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

int64_t TotalBytes(const v1::Manifest& manifest) {
  int64_t bytes = 0;
  for (const v1::FileDigest& file : manifest.files()) bytes += file.bytes();
  return bytes;
}

std::string Megabytes(int64_t bytes) {
  if (bytes < 100 * 1000) return absl::StrFormat("%.1f kB", static_cast<double>(bytes) / 1e3);
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6);
}

// Formats a time like "2026-11-20 06:30 UTC"; "-" if the time is not set.
std::string Instant(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts;
  char text[64];
  if (unix_seconds <= 0 || gmtime_r(&time, &parts) == nullptr) return "-";
  if (std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts) == 0) return "-";
  return text;
}

// Formats accuracies, which are fractions, as percent.
std::string MetricValue(const v1::Metric& metric) {
  if (metric.name().starts_with("top")) return absl::StrFormat("%.2f %%", 100 * metric.value());
  return absl::StrFormat("%.4g", metric.value());
}

std::string Metrics(const v1::Manifest& manifest) {
  std::vector<std::string> metrics;
  for (const v1::Metric& metric : manifest.provenance().metrics()) {
    metrics.push_back(absl::StrCat(EscapedText(metric.name()), " ", MetricValue(metric),
                                   metric.split().empty() ? "" : " " + EscapedText(metric.split())));
  }
  return metrics.empty() ? "-" : absl::StrJoin(metrics, ", ");
}

void AppendProvenance(const v1::Provenance& provenance, std::vector<std::vector<std::string>>& rows) {
  const auto add = [&](const char* what, const std::string& text) {
    if (!text.empty()) rows.push_back({what, EscapedText(text)});
  };
  add("recipe", provenance.recipe());
  add("data", provenance.data());
  add("data digest", provenance.data_digest());
  const bool trained = provenance.epochs() > 0;  // false for imports, whose training is unknown
  if (trained || provenance.seed() != 0) add("seed", absl::StrCat(provenance.seed()));
  if (trained) {
    add("epochs", absl::StrFormat("%.4g", provenance.epochs()));
    add("images seen", WithSeparators(provenance.images_seen()));
    add("trained", absl::StrFormat("%.0f s", provenance.train_seconds()));
  }
  add("hardware", provenance.hardware());
  add("source", provenance.source_revision());
  add("continued from", provenance.continued_from());
  add("fetched from", provenance.origin().url());
  add("its SHA-256", provenance.origin().sha256());
  add("licence", LicenceInWords(provenance));
}

}  // namespace

DataTable TableOf(const std::vector<v1::Manifest>& manifests) {
  DataTable table({{"model", "MODEL"},
                   {"version", "VERSION", true},
                   {"parameters", "PARAMETERS", true},
                   {"bytes", "SIZE", true},
                   {"created_unix_seconds", "CREATED"},
                   {"metrics", "MEASURED"}});
  for (const v1::Manifest& manifest : manifests) {
    nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
    for (const v1::Metric& metric : manifest.provenance().metrics()) {
      metrics.push_back(
          {{"name", metric.name()}, {"split", metric.split()}, {"value", metric.value()}, {"images", metric.images()}});
    }
    table.Add({Cell::Text(manifest.model()),
               {manifest.version(), absl::StrCat(manifest.version())},
               Cell::Count(manifest.parameters()),
               {TotalBytes(manifest), Megabytes(TotalBytes(manifest))},
               {manifest.provenance().created_unix_seconds(), Instant(manifest.provenance().created_unix_seconds())},
               {metrics, Metrics(manifest)}});
  }
  return table;
}

std::string ManifestAsPage(const v1::Manifest& manifest) {
  std::vector<std::vector<std::string>> facts = {
      {"model", manifest.model()},
      {"version", absl::StrCat(manifest.version())},
      {"parameters", WithSeparators(manifest.parameters())},
      {"created", Instant(manifest.provenance().created_unix_seconds())},
  };
  AppendProvenance(manifest.provenance(), facts);
  for (const v1::Metric& metric : manifest.provenance().metrics()) {
    facts.push_back(
        {"measured", absl::StrCat(EscapedText(metric.name()), " ", MetricValue(metric), " on ",
                                  WithSeparators(metric.images()), " images, ", EscapedText(metric.split()))});
  }
  if (manifest.has_calibration())
    facts.push_back({"calibrated", EscapedText(CalibrationInWords(manifest.calibration()))});
  for (const v1::GoldenTolerance& row : manifest.golden_tolerances()) {
    facts.push_back({"tolerance", absl::StrFormat("%g in %s on %s", row.tolerance(), EscapedText(row.precision()),
                                                  EscapedText(row.device()))});
  }
  for (const v1::PrecisionPlan& plan : manifest.precisions()) {
    std::string words = absl::StrCat(EscapedText(plan.precision()), ", ", plan.kept_size(), " operators excluded");
    for (const v1::Metric& metric : plan.metrics()) {
      // The text of the split includes the number of images: "mnist test, 2000 images".
      absl::StrAppend(&words, "; ", EscapedText(metric.name()), " ", MetricValue(metric),
                      metric.split().empty() ? "" : " on " + EscapedText(metric.split()));
    }
    facts.push_back({"precision", words});
  }
  std::vector<std::vector<std::string>> files;
  for (const v1::FileDigest& file : manifest.files()) {
    files.push_back({file.name(), WithSeparators(file.bytes()), file.sha256()});
  }
  std::string config;
  google::protobuf::TextFormat::PrintToString(manifest.config(), &config);
  return absl::StrCat(Aligned(facts, {false, false}), "\n", Aligned(files, {false, true, false}), "\n", config);
}

}  // namespace vitrine
