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

// JSON members that a program adds to an answer if the answer's image or results are in files. File names are UTF-8.
struct AnswerFiles {
  std::string image = {};                      // empty: no member
  std::optional<Size> sent_as = std::nullopt;  // size of the sent image, if it was reduced before sending
  std::vector<std::string> attention = {};     // file of each map's drawing; may be shorter than the list of maps
  std::string features = {};                   // file of the array that contains the features; empty: no member
  int64_t row = -1;                            // row of the array for this image; -1: the array has only this image
};

// Returns the answer as one line of JSON; proto/vitrine/v1/answer.schema.json describes it. A float has the fewest
// digits that parse to the same value, or is null if it is not finite. The text is written directly, because a JSON
// document object of large maps would need many times the memory of the maps. Requires attention as FLOAT32 or
// OVERLAY_PNG, and features as FEATURE_FLOAT32. A map or feature without values has no `values` member.
std::string AnswerJson(const v1::ClassifyResponse& answer, const AnswerFiles& files = {});

// Appends the list of predictions in the form that it has in AnswerJson.
void AppendPredictionsJson(const v1::ClassifyResponse& answer, std::string& text);

// Appends the shortest decimal that parses to the same float; appends null for infinities and NaN.
void AppendFloat(float value, std::string& text);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_ANSWER_JSON_H_
