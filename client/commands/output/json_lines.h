// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_JSON_LINES_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_JSON_LINES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/drawing/answer_json.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Returns the answer for an image as one line of JSON, in the form that proto/vitrine/v1/answer.schema.json describes.
// Values that are written to files are left out, except distances. File names are escaped by EscapedBytes
// (common/data/file_names.h).
std::string AnswerLine(v1::ClassifyResponse answer, AnswerFiles files);

// Returns the line of an image without an answer: its path, the message, and the name of the status code.
std::string FailureLine(const std::string& image, const absl::Status& why);

// Properties that all features of one run share.
struct FeatureSummary {
  v1::FeatureKind kind = v1::FEATURE_KIND_UNSPECIFIED;
  int width = 0;
  bool normalized = false;
  int images = 0;
};

// Returns a JSON object on one line that describes the version that computed the features.
std::string FeatureOrigin(const v1::ServedBy& by, const FeatureSummary& features);

// Returns one version of a model as a JSON object on one line.
std::string ModelLine(const v1::ModelVersion& version);
// Returns ModelLine with the other fields of GetModel added: `labels`, and the messages `config`, `provenance`,
// `calibration` and `batching`.
std::string ModelDetailLine(const v1::ModelVersion& version);
// Returns ModelLine with `time` (RFC 3339, UTC) and `removed` in front.
std::string ModelEventLine(const v1::ModelEvent& event, absl::Time time);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_JSON_LINES_H_
