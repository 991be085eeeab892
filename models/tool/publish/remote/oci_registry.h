// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_OCI_REGISTRY_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_OCI_REGISTRY_H_

#include <memory>
#include <string>

#include "models/tool/publish/remote/store.h"

namespace vitrine {

// Returns the repository of an OCI registry. A version is an artifact with the tag MODEL-VERSION, whose layers are the
// version's files; each layer's title annotation is the file's name, as ORAS writes it. `base` is the registry's URL,
// `host` its name in ~/.docker/config.json, from which a user and password are taken if there are any.
//
// A registry lets a push replace a tag, so PutManifest first checks that the tag is free. If two pushes run at the same
// moment, the later push replaces the earlier push, unless the registry makes tags immutable.
std::unique_ptr<RemoteStore> OpenOciRegistry(std::string base, std::string host, const std::string& name,
                                             Surroundings surroundings);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_OCI_REGISTRY_H_
