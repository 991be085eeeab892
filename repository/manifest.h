// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_MANIFEST_H_
#define VITRINE_REPOSITORY_MANIFEST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// The files of a version. Every version has these four; others (a model card) may stand beside them.
inline constexpr char kManifestFile[] = "manifest.textproto";
inline constexpr char kWeightsFile[] = "weights.safetensors";
inline constexpr char kGoldenFile[] = "golden.safetensors";
inline constexpr char kLabelsFile[] = "labels.txt";

// Most bytes of a manifest, of an extra file (held in memory with the version), and of any other file.
inline constexpr int64_t kMaxManifestBytes = 1 << 20;
inline constexpr int64_t kMaxExtraFileBytes = 16 << 20;
inline constexpr int64_t kMaxFileBytes = int64_t{4} << 30;

// Parses the text form; prints nothing. INVALID_ARGUMENT gives line, column and fault.
//
// Fields that this program does not know are passed over, each with its place in `unknown` if that is not null: a newer
// program may say more of a version than this one needs. Those within `config` and `calibration` are refused, since
// they say what an answer is: whoever passed over them would serve another model.
absl::StatusOr<v1::Manifest> ParseManifest(std::string_view text, std::vector<std::string>* unknown = nullptr);

std::string FormatManifest(const v1::Manifest& manifest);

// Whether the manifest is complete and consistent in itself. INVALID_ARGUMENT names the field. The sizes of the model
// family are MakeModel's to judge, the files' content ReadVersion's. Plans and tolerances for precisions and devices
// that this program does not know are passed over: it serves in none of them.
absl::Status ValidateManifest(const v1::Manifest& manifest);

// How the version is computed in "bf16" or "int8"; null where the manifest has no plan for it.
const v1::PrecisionPlan* FindPrecision(const v1::Manifest& manifest, std::string_view precision);

// What logits are divided by before the softmax: 1 where the manifest has no calibration.
double TemperatureOf(const v1::Manifest& manifest);

// The temperatures that a calibration may have.
inline constexpr double kLowestTemperature = 0.05;
inline constexpr double kHighestTemperature = 20;

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_MANIFEST_H_
