// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_MODEL_JSON_H_
#define VITRINE_SERVER_WIRE_HTTP_MODEL_JSON_H_

#include <string>

#include "server/models/registry/loaded_model.h"

namespace vitrine {

// What one version can be asked for, as one JSON object on a line:
//   {"name", "version", "classes": [LABEL], "parameters", "precision", "attention": [{"kind", "layers", "heads"}],
//    "features": [KIND]}
std::string ModelJson(const LoadedModel& model);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_MODEL_JSON_H_
