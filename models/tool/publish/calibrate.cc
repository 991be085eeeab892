// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/calibrate.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/drawing/calibration_words.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"

namespace vitrine {
namespace {

// Content of a calibration file: a calibration, and the digest of the weights that it was made for.
struct CalibrationFile {
  v1::Calibration calibration;
  std::string weights_sha256;
};

absl::StatusOr<CalibrationFile> ReadCalibration(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path, 1 << 20);
  if (!text.ok()) {
    return absl::Status(text.status().code(), absl::StrCat(text.status().message(),
                                                           "; `vitrine eval --calibrate` writes "
                                                           "calibration.json into its --out folder"));
  }
  try {
    const nlohmann::json json = nlohmann::json::parse(*text);
    if (json.at("format").get<int>() != 1)
      return absl::InvalidArgumentError(absl::StrCat(path, " has an unsupported format"));
    CalibrationFile file;
    file.weights_sha256 = json.at("weights_sha256").get<std::string>();
    file.calibration.set_temperature(json.at("temperature").get<double>());
    file.calibration.set_sure_accuracy(json.at("sure_accuracy").get<double>());
    file.calibration.set_data(json.at("data").get<std::string>());
    file.calibration.set_pictures(json.at("pictures").get<int64_t>());
    if (json.at("unsure_below").is_null()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " has no threshold at which ", 100 * file.calibration.sure_accuracy(),
                       " % of the sure answers are right; evaluate with a lower --sure-accuracy"));
    }
    file.calibration.set_unsure_below(json.at("unsure_below").get<double>());
    return file;
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is not a calibration.json of `vitrine eval --calibrate`: a member is missing or has another type"));
  }
}

absl::Status CheckWeights(const CalibrationFile& file, const std::string& path, const VersionId& id,
                          const StoredVersion& version) {
  if (file.weights_sha256 == version.weights_sha256) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, " belongs to weights ", absl::CHexEscape(file.weights_sha256), ", but ", id.model, "/", id.version, " has ",
      version.weights_sha256, "; name the version that was evaluated, or evaluate this one"));
}

}  // namespace

absl::Status CalibrateCommand(const CalibrateOptions& options) {
  ASSIGN_OR_RETURN(const CalibrationFile file, ReadCalibration(options.from));
  ASSIGN_OR_RETURN(const VersionId from, FindOneVersion(options.repository, options.which));
  ASSIGN_OR_RETURN(StoredVersion version, ReadVersion(options.repository, from));
  RETURN_IF_ERROR(CheckWeights(file, options.from, from, version));
  *version.manifest.mutable_calibration() = file.calibration;
  const Draft draft = {std::move(version.manifest), std::move(version.weights), std::move(version.golden),
                       std::move(version.labels), std::move(version.extra_files)};
  ASSIGN_OR_RETURN(const VersionId published, Publish(options.repository, from.model, draft));
  if (options.format == "json") {
    const nlohmann::ordered_json line = {{"model", published.model},
                                         {"version", published.version},
                                         {"from_version", from.version},
                                         {"temperature", file.calibration.temperature()},
                                         {"unsure_below", file.calibration.unsure_below()}};
    std::cout << line.dump(2) << "\n";
    return absl::OkStatus();
  }
  std::cout << published.model << "/" << published.version << " in " << options.repository << ": " << from.model << "/"
            << from.version << " with " << EscapedText(CalibrationInWords(file.calibration)) << "\n";
  return absl::OkStatus();
}

}  // namespace vitrine
