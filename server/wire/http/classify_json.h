// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CLASSIFY_JSON_H_
#define VITRINE_SERVER_WIRE_HTTP_CLASSIFY_JSON_H_

#include <string>

#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// An answer as one JSON object on a line; docs/how-to/http.md lists the members, which have the names that `vitrine
// classify` gives them. Numbers are as short as a float needs. Written as text, since a document of large maps takes
// many times their size. Requires attention encoded as FLOAT32 or OVERLAY_PNG, features as FEATURE_FLOAT32.
std::string ClassifyJson(const v1::ClassifyResponse& answer);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_JSON_H_
