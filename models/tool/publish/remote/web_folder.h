// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_WEB_FOLDER_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_WEB_FOLDER_H_

#include <memory>
#include <string>

#include "models/tool/publish/remote/store.h"

namespace vitrine {

// Name of the list of versions in a folder behind a web server: the output of `vitrine-repo list DIR --format json`.
inline constexpr char kIndexFile[] = "index.json";

// Returns the repository of a web server, which can only be read. Sends no credentials.
std::unique_ptr<RemoteStore> OpenWebFolder(std::string url, Transport ask);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_WEB_FOLDER_H_
