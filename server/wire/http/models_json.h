// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_
#define VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_

#include <string>
#include <vector>

#include "server/identity/caller.h"
#include "server/models/registry/loaded_model.h"
#include "server/models/registry/version_status.h"

namespace vitrine {

// What one version can be asked for, as one JSON object on a line:
//   {"name", "version", "classes": [LABEL], "parameters", "precision", "attention": [{"kind", "layers", "heads"}],
//    "features": [KIND]}
// beside the members of a model in OpenAI's form: {"id": NAME, "object": "model", "created", "owned_by"}.
std::string ModelJson(const LoadedModel& model);

// The models that can be asked now, each with all its versions and how they stand, as the caller may see them:
//   {"models": [{"name": NAME, "versions": [{"version": 1, "state": "ready", "labels": ["stable"]}]}],
//    "object": "list", "data": [{"id": NAME, "object": "model", "created", "owned_by"}]}
// the latter two in OpenAI's form, of the version that is `stable`, else of the newest.
// `versions` are those of Registry::List, a model's together.
std::string ModelsJson(const std::vector<VersionStatus>& versions, const Caller& caller);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_MODELS_JSON_H_
