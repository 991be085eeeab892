// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CLASSIFY_JSON_H_
#define VITRINE_SERVER_WIRE_HTTP_CLASSIFY_JSON_H_

#include <string>

#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Returns the answer as one line of JSON; docs/how-to/http.md lists the members, which are named as in `vitrine
// classify`. Floats have the fewest digits that parse to the same value. Text is written directly, since a JSON
// document of large maps takes many times their size. Requires attention encoded as FLOAT32 or OVERLAY_PNG, and
// features as FEATURE_FLOAT32.
std::string ClassifyJson(const v1::ClassifyResponse& answer);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_JSON_H_
