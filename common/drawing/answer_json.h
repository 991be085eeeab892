// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_ANSWER_JSON_H_
#define VITRINE_COMMON_DRAWING_ANSWER_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/imaging/geometry.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Members that a program adds to an answer whose image or results are files. Names are UTF-8.
struct AnswerFiles {
  std::string image = {};                      // empty: no member
  std::optional<Size> sent_as = std::nullopt;  // size of an image that was reduced before it was sent
  std::vector<std::string> attention = {};     // drawing of each map; may be shorter than the maps
  std::string features = {};                   // array that holds the features; empty: no member
  int64_t row = -1;                            // row of that array; -1: it holds only this image
};

// Returns the answer as one line of JSON, as proto/vitrine/v1/answer.schema.json describes it. Floats have the fewest
// digits that parse to the same value, or are null if not finite. Text is written directly, since a JSON document of
// large maps takes many times their size. Requires attention encoded as FLOAT32 or OVERLAY_PNG, and features as
// FEATURE_FLOAT32; a map or feature without values has no `values` member.
std::string AnswerJson(const v1::ClassifyResponse& answer, const AnswerFiles& files = {});

// Appends the shortest decimal that parses to the same float; null for infinities and NaN.
void AppendFloat(float value, std::string& text);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_ANSWER_JSON_H_
