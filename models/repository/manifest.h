// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_MANIFEST_H_
#define VITRINE_MODELS_REPOSITORY_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// The four files that every version has. Other files of a version, such as a model card, are optional.
inline constexpr char kManifestFile[] = "manifest.textproto";
inline constexpr char kWeightsFile[] = "weights.safetensors";
inline constexpr char kGoldenFile[] = "golden.safetensors";
inline constexpr char kLabelsFile[] = "labels.txt";

// Size limits of a manifest, of an extra file (kept in memory with the version), and of any other file.
inline constexpr int64_t kMaxManifestBytes = 1 << 20;
inline constexpr int64_t kMaxExtraFileBytes = 16 << 20;
inline constexpr int64_t kMaxFileBytes = int64_t{4} << 30;

// Parses the text form. Errors are returned and not logged: INVALID_ARGUMENT gives line, column and error.
//
// Ignores unknown fields, since newer programs may write additional fields. Adds the position of each unknown field to
// `unknown` if that is not null. Rejects unknown fields within `config` and `calibration`, because they change the
// answers.
absl::StatusOr<v1::Manifest> ParseManifest(std::string_view text, std::vector<std::string>* unknown = nullptr);

std::string FormatManifest(const v1::Manifest& manifest);

// Checks that the manifest is complete and consistent. INVALID_ARGUMENT names the field. ModelDescription::Make checks
// the sizes in the config of the model family; ReadVersion checks the files' content. Ignores plans and tolerances for
// precisions and devices that this program does not know, because it does not use them.
absl::Status ValidateManifest(const v1::Manifest& manifest);

inline constexpr size_t kMostLicenceBytes = 200;
// Returns "" if a manifest may state `text` as its licence; otherwise the error.
std::string FaultOfLicence(const std::string& text);

// Returns the plan of the version for "bf16" or "int8"; null if the manifest has none.
const v1::PrecisionPlan* FindPrecision(const v1::Manifest& manifest, std::string_view precision);

// Returns the divisor of logits before the softmax; 1 without a calibration.
double TemperatureOf(const v1::Manifest& manifest);

inline constexpr double kLowestTemperature = 0.05;
inline constexpr double kHighestTemperature = 20;

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_MANIFEST_H_
