// SPDX-License-Identifier: Apache-2.0
#include "models/repository/manifest.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/byte_order_mark.h"
#include "common/first_error.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/names.h"

namespace vitrine {
namespace {

// A larger tolerance would accept wrong models. bf16 needs 0.05.
constexpr float kMaxGoldenTolerance = 0.1f;

absl::Status RefusedField(const std::string& field, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", fault));
}

// Checks that all strings are UTF-8, as protobuf requires. Escapes in the text form can produce any bytes.
absl::Status CheckStrings(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
        const std::string text = field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                                      : reflection.GetString(message, field);
        if (!IsValidUtf8(text)) return RefusedField(field->name(), absl::StrCat("is not UTF-8: ", Quoted(text)));
      } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
        RETURN_IF_ERROR(CheckStrings(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                          : reflection.GetMessage(message, field)));
      }
    }
  }
  return absl::OkStatus();
}

bool IsSha256(std::string_view digits) {
  return digits.size() == 64 && std::all_of(digits.begin(), digits.end(),
                                            [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); });
}

absl::Status CheckFiles(const v1::Manifest& manifest) {
  constexpr int kMostFiles = 64;
  if (manifest.files_size() > kMostFiles)
    return RefusedField("files", absl::StrCat("has more than ", kMostFiles, " entries"));
  std::set<std::string> names;
  for (const v1::FileDigest& file : manifest.files()) {
    const std::string field = absl::StrCat("files { name: ", Quoted(file.name()), " }");
    if (!IsPlainName(file.name())) return RefusedField(field, "is not a plain file name: [A-Za-z0-9_.-]{1,64}");
    if (file.name() == kManifestFile)
      return RefusedField(field, "is the manifest itself, which cannot hold its own digest");
    if (!names.insert(file.name()).second) return RefusedField(field, "appears twice");
    if (!IsSha256(file.sha256())) return RefusedField(field, "needs a sha256 of 64 lower-case hexadecimal digits");
    const bool known = file.name() == kWeightsFile || file.name() == kGoldenFile || file.name() == kLabelsFile;
    const int64_t most = known ? kMaxFileBytes : kMaxExtraFileBytes;
    if (file.bytes() < 0 || file.bytes() > most) {
      return RefusedField(field, absl::StrCat("has ", file.bytes(), " bytes; 0 to ", most, " are allowed"));
    }
  }
  for (const char* name : {kWeightsFile, kGoldenFile, kLabelsFile}) {
    if (!names.contains(name)) return RefusedField("files", absl::StrCat("lacks ", name));
  }
  return absl::OkStatus();
}

absl::Status CheckMetrics(const std::string& field, const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  for (const v1::Metric& metric : metrics) {
    if (metric.name().empty() || !std::isfinite(metric.value()) || metric.images() < 0) {
      return RefusedField(field, absl::StrCat("has a metric ", Quoted(metric.name()), " without name, value or count"));
    }
  }
  return absl::OkStatus();
}

bool IsNarrow(std::string_view precision) {
  return precision == "bf16" || precision == "int8";
}

absl::Status CheckTolerances(const v1::Manifest& manifest) {
  if (manifest.golden_tolerances().empty()) {
    return RefusedField("golden_tolerances", "is empty; without one no device may serve the version");
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const v1::GoldenTolerance& row : manifest.golden_tolerances()) {
    const bool device = row.device() == "cpu" || row.device() == "cuda";
    if (!device || (row.precision() != "fp32" && !IsNarrow(row.precision()))) continue;
    if (!(row.tolerance() > 0 && row.tolerance() <= kMaxGoldenTolerance)) {
      return RefusedField("golden_tolerances", absl::StrCat("has tolerance ", row.tolerance(),
                                                            "; it must be above 0 and at most ", kMaxGoldenTolerance));
    }
    if (!seen.emplace(row.device(), row.precision()).second) {
      return RefusedField("golden_tolerances", absl::StrCat("has ", row.device(), " ", row.precision(), " twice"));
    }
  }
  if (seen.empty()) {
    return RefusedField("golden_tolerances",
                        "has no row for cpu or cuda in fp32, bf16 or int8, which this program supports");
  }
  return absl::OkStatus();
}

absl::Status CheckPrecisions(const v1::Manifest& manifest) {
  std::set<std::string> precisions;
  for (const v1::PrecisionPlan& plan : manifest.precisions()) {
    if (plan.precision() == "fp32" || plan.precision().empty()) {
      return RefusedField("precisions", absl::StrCat("has ", Quoted(plan.precision()), ", which has no plan"));
    }
    if (!IsNarrow(plan.precision())) continue;
    if (!precisions.insert(plan.precision()).second) {
      return RefusedField("precisions", absl::StrCat("has ", plan.precision(), " twice"));
    }
    std::set<std::string> kept;
    for (const std::string& name : plan.kept()) {
      if (name.empty() || !kept.insert(name).second) {
        return RefusedField(
            "precisions", absl::StrCat("keeps ", Quoted(name), " from ", plan.precision(), " twice, or an empty name"));
      }
    }
    RETURN_IF_ERROR(CheckMetrics("precisions", plan.metrics()));
  }
  return absl::OkStatus();
}

absl::Status CheckCalibration(const v1::Calibration& calibration) {
  const auto in = [](double value, double low, double high) { return value >= low && value <= high; };  // false for NaN
  if (!in(calibration.temperature(), kLowestTemperature, kHighestTemperature)) {
    return RefusedField("calibration", absl::StrCat("has temperature ", calibration.temperature(), "; ",
                                                    kLowestTemperature, " to ", kHighestTemperature, " are allowed"));
  }
  if (!in(calibration.unsure_below(), 0, 1) || !in(calibration.sure_accuracy(), 0, 1)) {
    return RefusedField("calibration", "has an unsure_below or sure_accuracy outside 0 to 1");
  }
  if (calibration.pictures() < 1) return RefusedField("calibration", "has no number of images");
  return absl::OkStatus();
}

absl::Status CheckConfig(const v1::ModelConfig& config) {
  constexpr int kMostClasses = 100000;
  if (config.family_case() == v1::ModelConfig::FAMILY_NOT_SET) return RefusedField("config", "names no model family");
  if (!config.has_preprocessing()) return RefusedField("config", "lacks preprocessing");
  if (config.classes() < (config.has_vit() ? 0 : 1) || config.classes() > kMostClasses) {
    return RefusedField("config",
                        absl::StrCat("has ", config.classes(), " classes; 1 to ", kMostClasses, " are allowed"));
  }
  return absl::OkStatus();
}

absl::Status CheckProvenance(const v1::Provenance& provenance) {
  RETURN_IF_ERROR(CheckMetrics("provenance", provenance.metrics()));
  if (!std::isfinite(provenance.epochs()) || !std::isfinite(provenance.train_seconds())) {
    return RefusedField("provenance", "has epochs or train_seconds that are not finite");
  }
  const std::string fault = FaultOfLicence(provenance.licence());
  return fault.empty() ? absl::OkStatus() : RefusedField("provenance", absl::StrCat("has a licence that ", fault));
}

// Collects the parser's first error and all unknown fields.
class Complaints final : public google::protobuf::io::ErrorCollector {
 public:
  struct Unknown {
    int line, column;
    std::string sentence;
  };

  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    error.AddError(line, column, message);
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    FirstError place;
    place.AddError(line, column, message);
    unknown.push_back({line, column, place.message()});
  }

  FirstError error;
  std::vector<Unknown> unknown;
};

// Returns true if an unknown field is inside `config` or `calibration`, where it could change the answers.
bool SaysWhatIsComputed(const Complaints::Unknown& field, const google::protobuf::TextFormat::ParseInfoTree& places) {
  for (const int number : {v1::Manifest::kConfigFieldNumber, v1::Manifest::kCalibrationFieldNumber}) {
    const auto range = places.GetLocationRange(v1::Manifest::descriptor()->FindFieldByNumber(number), /*index=*/-1);
    const auto at = std::pair(field.line, field.column);
    if (at >= std::pair(range.start.line, range.start.column) && at <= std::pair(range.end.line, range.end.column)) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<v1::Manifest> ParseManifest(std::string_view text, std::vector<std::string>* unknown) {
  constexpr int kDeepest = 10;
  if (text.size() > static_cast<size_t>(kMaxManifestBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("longer than ", kMaxManifestBytes, " bytes"));
  }
  Complaints complaints;
  google::protobuf::TextFormat::ParseInfoTree places;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&complaints);
  parser.WriteLocationsTo(&places);
  parser.SetRecursionLimit(kDeepest);
  parser.AllowUnknownField(true);
  v1::Manifest manifest;
  if (!parser.ParseFromString(std::string(WithoutByteOrderMark(text)), &manifest)) {
    return absl::InvalidArgumentError(complaints.error.message().empty() ? "not a manifest in text form"
                                                                         : complaints.error.message());
  }
  for (const Complaints::Unknown& field : complaints.unknown) {
    if (SaysWhatIsComputed(field, places)) {
      return absl::InvalidArgumentError(absl::StrCat(
          field.sentence,
          " It defines what the model computes, so this program cannot serve the version; a newer one can."));
    }
    if (unknown != nullptr) unknown->push_back(field.sentence);
  }
  return manifest;
}

std::string FormatManifest(const v1::Manifest& manifest) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(manifest, &text);
  return text;
}

absl::Status ValidateManifest(const v1::Manifest& manifest) {
  RETURN_IF_ERROR(CheckStrings(manifest));
  if (!IsPlainName(manifest.model())) {
    return RefusedField("model", absl::StrCat(Quoted(manifest.model()), " is not a name: [A-Za-z0-9_.-]{1,64}"));
  }
  if (manifest.version() < 1) return RefusedField("version", absl::StrCat(manifest.version(), " is not positive"));
  if (manifest.parameters() < 0) return RefusedField("parameters", "is negative");
  RETURN_IF_ERROR(CheckConfig(manifest.config()));
  RETURN_IF_ERROR(CheckFiles(manifest));
  RETURN_IF_ERROR(CheckTolerances(manifest));
  RETURN_IF_ERROR(CheckPrecisions(manifest));
  if (manifest.has_calibration()) RETURN_IF_ERROR(CheckCalibration(manifest.calibration()));
  return CheckProvenance(manifest.provenance());
}

std::string FaultOfLicence(const std::string& text) {
  if (text.size() > kMostLicenceBytes) {
    return absl::StrCat("has ", text.size(), " bytes; at most ", kMostLicenceBytes, " are allowed, as in Apache-2.0");
  }
  return std::any_of(text.begin(), text.end(), absl::ascii_iscntrl) ? "has control characters" : "";
}

const v1::PrecisionPlan* FindPrecision(const v1::Manifest& manifest, std::string_view precision) {
  for (const v1::PrecisionPlan& plan : manifest.precisions()) {
    if (plan.precision() == precision) return &plan;
  }
  return nullptr;
}

double TemperatureOf(const v1::Manifest& manifest) {
  return manifest.has_calibration() ? manifest.calibration().temperature() : 1;
}

}  // namespace vitrine
