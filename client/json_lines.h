// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_JSON_LINES_H_
#define VITRINE_CLIENT_JSON_LINES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "imaging/geometry.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// One classified picture as a JSON object on one line (docs/how-to/command-line.md lists the members). `files` holds
// the file of each attention map, or nothing; `sent_as` the size of a picture that was made smaller before it was sent.
// Names of files are as EscapedBytes (data/file_names.h) writes them.
std::string ClassificationLine(const std::string& picture, const v1::ClassifyResponse& answer,
                               const std::vector<std::string>& files,
                               const std::optional<Size>& sent_as = std::nullopt);

// A picture that has no answer, with the canonical code by its name and the sentence.
std::string FailureLine(const std::string& picture, const absl::Status& why);

// Where the features of a picture were written.
struct FeatureLinePlace {
  std::string file = {};  // empty: nowhere, the line holds the numbers
  int64_t row = -1;       // of the array in `file`; -1 where the file is the picture's own
};

// The features of one picture as a JSON object on one line; the numbers themselves only if they are in no file.
std::string FeatureLine(const std::string& picture, const v1::ClassifyResponse& answer, const v1::Feature& feature,
                        const std::vector<float>& values, const FeatureLinePlace& place);

// One version of a model as a JSON object on one line.
std::string ModelLine(const v1::ModelVersion& version);
// The same with everything that GetModel tells: `labels`, and `config` and `provenance` as their messages have them.
std::string ModelDetailLine(const v1::ModelVersion& version);
// The same as ModelLine behind `time` (RFC 3339, UTC) and `removed`.
std::string ModelEventLine(const v1::ModelEvent& event, absl::Time time);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_JSON_LINES_H_
