// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_SOURCE_TEXT_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_SOURCE_TEXT_H_

#include <string>
#include <vector>

#include "models/tool/publish/import/model_files.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Returns the text of kSourceFile. The content of a version that CacheCommand imports depends only on this text.
std::string SourceText(const std::vector<ModelFile>& files, const v1::Origin& origin);

// `text` is the content of a kSourceFile. Returns true if `pull` names a commit, and this version of the importer wrote
// `text` when it pulled that commit. A second pull would then give the same text.
bool IsOfCommit(const std::string& text, const std::string& pull);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_SOURCE_TEXT_H_
