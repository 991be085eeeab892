// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_
#define VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_

#include <string>
#include <vector>

#include "server/identity/caller.h"
#include "server/registry/version/loaded_model.h"
#include "server/registry/version/version_status.h"

namespace vitrine {

// Returns the properties of one version as one line of JSON. It starts with the members of a model in OpenAI's form:
//   {"id": NAME, "object": "model", "created", "owned_by", "name", "version", "classes": [LABEL], "parameters",
//    "precision", "attention": [{"kind", "layers", "heads"}], "features": [KIND], ...}
std::string ModelJson(const LoadedModel& model);

// Returns the models that have a ready version and that the caller may use, each with all its versions:
//   {"models": [{"name": NAME, "versions": [{"version": 1, "state": "ready", "labels": ["stable"]}]}],
//    "object": "list", "data": [{"id": NAME, "object": "model", "created", "owned_by"}]}
// "data" has each model in OpenAI's form, with the values of the version labelled `stable` if it is ready, otherwise of
// the newest ready version. `versions`: result of Registry::List.
std::string ModelsJson(const std::vector<VersionStatus>& versions, const Caller& caller);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_
