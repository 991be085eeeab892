// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_JSON_LINES_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_JSON_LINES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/imaging/geometry.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Returns a classified image as one line of JSON (docs/how-to/command-line.md lists the members). `files` holds the
// file of each attention map, or is empty; `sent_as` the size of an image that was reduced before it was sent. File
// names have the form of EscapedBytes (common/data/file_names.h).
std::string ClassificationLine(const std::string& picture, const v1::ClassifyResponse& answer,
                               const std::vector<std::string>& files,
                               const std::optional<Size>& sent_as = std::nullopt);

// Returns the line of an image without an answer: name of the canonical code, and message.
std::string FailureLine(const std::string& picture, const absl::Status& why);

// Place where the features of an image were written.
struct FeatureLinePlace {
  std::string file = {};  // empty: none, the line holds the numbers
  int64_t row = -1;       // row of the array in `file`; -1 if the file holds only this image
};

// Returns the features of one image as one line of JSON; with the numbers only if they are in no file.
std::string FeatureLine(const std::string& picture, const v1::ClassifyResponse& answer, const v1::Feature& feature,
                        const std::vector<float>& values, const FeatureLinePlace& place);

// Properties that all features of one run share.
struct FeatureSummary {
  v1::FeatureKind kind = v1::FEATURE_KIND_UNSPECIFIED;
  int width = 0;
  bool normalized = false;
  int pictures = 0;
};

// The version that computed features as a JSON object on one line.
std::string FeatureOrigin(const v1::ServedBy& by, const FeatureSummary& features);

// Returns true if two results of FeatureOrigin name the same weights, kind and normalization. False if one is no JSON.
bool IsSameOrigin(const std::string& a, const std::string& b);

// One version of a model as a JSON object on one line.
std::string ModelLine(const v1::ModelVersion& version);
// Like ModelLine, with all fields of GetModel: `labels`, and `config` and `provenance` in the form of their messages.
std::string ModelDetailLine(const v1::ModelVersion& version);
// Like ModelLine, after `time` (RFC 3339, UTC) and `removed`.
std::string ModelEventLine(const v1::ModelEvent& event, absl::Time time);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_JSON_LINES_H_
