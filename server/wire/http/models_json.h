// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_
#define VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_

#include <string>
#include <vector>

#include "server/identity/caller.h"
#include "server/registry/version/loaded_model.h"
#include "server/registry/version/version_status.h"

namespace vitrine {

// Returns the properties of one version as one line of JSON:
//   {"name", "version", "classes": [LABEL], "parameters", "precision", "attention": [{"kind", "layers", "heads"}],
//    "features": [KIND], ...}
// and the members of a model in OpenAI's form: {"id": NAME, "object": "model", "created", "owned_by"}.
std::string ModelJson(const LoadedModel& model);

// Returns the models that have a ready version, each with all its versions; leaves out models that the caller may not
// use:
//   {"models": [{"name": NAME, "versions": [{"version": 1, "state": "ready", "labels": ["stable"]}]}],
//    "object": "list", "data": [{"id": NAME, "object": "model", "created", "owned_by"}]}
// "data" is in OpenAI's form, from the version labelled `stable`, otherwise from the newest ready version. `versions`:
// result of Registry::List.
std::string ModelsJson(const std::vector<VersionStatus>& versions, const Caller& caller);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_
