// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_EXPORT_LIBRARY_FILES_H_
#define VITRINE_MODELS_TOOL_PUBLISH_EXPORT_LIBRARY_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Files that a library needs besides the weights to make a model.
struct LibraryFiles {
  std::map<std::string, std::string> texts = {};  // content by file name
  std::vector<std::string> notes = {};            // parts of the preprocessing that the library cannot express
};

// Return the files for the model of a manifest, with the labels of its classes, for timm 1.0 or transformers.
// FAILED_PRECONDITION if the library has no model that computes the same function.
absl::StatusOr<LibraryFiles> FilesForTimm(const v1::Manifest& manifest, const std::vector<std::string>& labels);
absl::StatusOr<LibraryFiles> FilesForTransformers(const v1::Manifest& manifest, const std::vector<std::string>& labels);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_EXPORT_LIBRARY_FILES_H_
