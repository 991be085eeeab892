// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/model_page.h"

#include <google/protobuf/text_format.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/commands/output/names.h"
#include "client/commands/output/text.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/calibration_words.h"
#include "common/drawing/input_words.h"
#include "common/drawing/licence_words.h"

namespace vitrine {
namespace {

constexpr int kName = 14;  // terminal columns of the indent and the name at the start of a line

std::string BytesInWords(int64_t bytes) {
  if (bytes < 1000) return absl::StrCat(bytes, " bytes");
  if (bytes < 1000000) return absl::StrFormat("%.1f kB", bytes / 1e3);
  return bytes < 1000000000 ? absl::StrFormat("%.1f MB", bytes / 1e6) : absl::StrFormat("%.2f GB", bytes / 1e9);
}

// Prints lines "  name        value", wrapping the value between words.
class Lines {
 public:
  explicit Lines(const Page& page) : page_(page) {}

  void Title(const std::string& text) { absl::StrAppend(&text_, Strong(text), "\n"); }
  void Heading(const std::string& text) { absl::StrAppend(&text_, "\n", Strong(text), "\n"); }

  void Add(const std::string& name, const std::string& value) {
    if (value.empty()) return;
    const std::string margin(kName, ' ');
    std::string line = absl::StrCat("  ", name);
    line.resize(std::max<size_t>(kName, line.size() + 1), ' ');
    bool first = true;
    for (const absl::string_view word : absl::StrSplit(Printable(value), ' ', absl::SkipEmpty())) {
      const bool full = !first && DisplayWidth(line) + 1 + DisplayWidth(word) > std::max(page_.width, 2 * kName);
      if (full) {
        absl::StrAppend(&text_, line, "\n");
        line = margin;
        first = true;
      }
      absl::StrAppend(&line, first ? "" : " ", word);
      first = false;
    }
    absl::StrAppend(&text_, line, "\n");
  }

  void Indented(const std::string& text) {
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      absl::StrAppend(&text_, "  ", Printable(line), "\n");
    }
  }

  std::string Take() { return std::move(text_); }

 private:
  std::string Strong(const std::string& text) const {
    return page_.colour ? absl::StrCat("\x1b[1m", text, "\x1b[0m") : text;
  }

  const Page page_;
  std::string text_;
};

void AddMetrics(const v1::Provenance& provenance, Lines& lines) {
  if (provenance.metrics().empty()) return;
  lines.Heading("Measured on these weights");
  for (const v1::Metric& metric : provenance.metrics()) {
    // Accuracies (top-1, top-5) are fractions, printed as percentages. A loss or another metric is a number.
    const bool fraction = metric.name().starts_with("top") && metric.value() >= 0 && metric.value() <= 1;
    const std::string value =
        fraction ? absl::StrFormat("%.2f %%", 100 * metric.value()) : absl::StrFormat("%.6g", metric.value());
    lines.Add(Printable(metric.name()), absl::StrCat(value, " on ", metric.split(), " of ", WithCommas(metric.images()),
                                                     metric.images() == 1 ? " image" : " images"));
  }
}

void AddProvenance(const v1::Provenance& from, Lines& lines) {
  lines.Heading("Provenance");
  lines.Add("data", from.data());
  lines.Add("data digest", from.data_digest());
  lines.Add("recipe", from.recipe());
  if (from.epochs() > 0) {
    lines.Add("training", absl::StrFormat("%.4g epochs, %s images, seed %d", from.epochs(),
                                          WithCommas(from.images_seen()), from.seed()));
  }
  if (from.train_seconds() > 0) {
    lines.Add("took", absl::FormatDuration(absl::Trunc(absl::Seconds(from.train_seconds()), absl::Seconds(1))));
  }
  lines.Add("hardware", from.hardware());
  if (!from.started_from().empty()) {
    lines.Add(from.continues() ? "continues" : "started from", from.started_from());
  }
  lines.Add("from weights", from.continued_from());
  lines.Add("teacher", from.teacher());
  if (from.ema_decay() > 0) lines.Add("averaged", absl::StrCat("with decay ", from.ema_decay()));
  if (from.created_unix_seconds() > 0) {
    lines.Add("published", absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(from.created_unix_seconds()),
                                            absl::UTCTimeZone()));
  }
  lines.Add("sources", from.source_revision());
}

// Describes the limits: "1,576 tokens, 64 images, 33,554,432 pixels at most; maximum wait: 2ms".
std::string BatchesOf(const v1::BatchLimits& limits) {
  return absl::StrCat(
      WithCommas(limits.max_batch_tokens()), " tokens, ", WithCommas(limits.max_batch_images()),
      limits.max_batch_images() == 1 ? " image, " : " images, ", WithCommas(limits.max_batch_pixels()),
      " pixels at most; maximum wait: ",
      limits.max_wait_seconds() > 0 ? absl::FormatDuration(absl::Seconds(limits.max_wait_seconds())) : "none");
}

void AddOffers(const v1::ModelVersion& version, Lines& lines) {
  lines.Heading("Available outputs");
  for (const v1::AttentionOffer& offer : version.attention()) {
    const std::string which = offer.kind() == v1::ROLLOUT
                                  ? "over all layers and heads"
                                  : absl::StrCat(offer.layers(), offer.layers() == 1 ? " layer" : " layers", ", ",
                                                 offer.heads(), offer.heads() == 1 ? " head" : " heads", " each");
    lines.Add(AttentionKindName(offer.kind()), absl::StrCat(AttentionTitle(offer.kind()), ": ", which));
  }
  std::vector<std::string> kinds;
  for (const int number : version.feature_kinds()) {
    const auto kind = static_cast<v1::FeatureKind>(number);
    const std::string own = kind == v1::PROJECTION ? absl::StrCat(" of ", version.config().vit().projection()) : "";
    kinds.push_back(FeatureKindName(kind) + own);
  }
  if (!kinds.empty()) {
    lines.Add("features", absl::StrCat(absl::StrJoin(kinds, ", "), " of ", version.feature_width(), " channels"));
  }
}

}  // namespace

std::string WithCommas(int64_t number) {
  std::string digits = absl::StrCat(number);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string ModelPage(const v1::ModelVersion& version, const Page& page) {
  Lines lines(page);
  lines.Title(absl::StrCat(Printable(version.model()), " version ", version.version()));
  lines.Add("state", ModelStateName(version.state()));
  lines.Add("reason", version.reason());
  if (version.has_config()) {  // absent until the server has read the manifest
    lines.Add("input", InputDescription(version.config()));
    lines.Add("parameters", WithCommas(version.parameters()));
    if (version.device_bytes() > 0)
      lines.Add("memory", absl::StrCat(BytesInWords(version.device_bytes()), " on the device"));
    lines.Add("weights", version.weights_sha256());
    lines.Add("licence", LicenceInWords(version.provenance()));
    lines.Add("classes", WithCommas(version.config().classes()));
    lines.Add("labels", absl::StrJoin(version.labels(), ", "));
    if (version.has_batching()) lines.Add("batches", BatchesOf(version.batching()));
    AddOffers(version, lines);
    AddMetrics(version.provenance(), lines);
    if (version.has_calibration()) lines.Add("calibrated", Printable(CalibrationInWords(version.calibration())));
    AddProvenance(version.provenance(), lines);
    std::string config;
    google::protobuf::TextFormat::PrintToString(version.config(), &config);
    lines.Heading("Configuration");
    lines.Indented(config);
  }
  return lines.Take();
}

}  // namespace vitrine
