// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_EXPORT_EXPORT_H_
#define VITRINE_MODELS_TOOL_PUBLISH_EXPORT_EXPORT_H_

#include <string>

#include "absl/status/status.h"

namespace vitrine {

struct ExportOptions {
  std::string repository;
  std::string which;   // "MODEL" (its newest version) or "MODEL@VERSION"
  std::string target;  // "timm" or "huggingface"
  std::string out;     // folder of the files; created if missing
};

// Writes a version as a folder for a library: timm loads it with `timm.create_model("local-dir:OUT", pretrained=True)`,
// transformers with `AutoModelForImageClassification.from_pretrained("OUT")`. The folder has model.safetensors with the
// library's names and layout, config.json with sizes, labels, licence and preprocessing, and transformers'
// preprocessor_config.json. Keeps the stored types. Prints the line of Python that loads the folder; on stderr, prints
// the parts of the preprocessing that the library cannot express.
//
// FAILED_PRECONDITION: the library has no such model, `out` already has one of these files, or an import of the written
// weights would not give the same bits. In all three cases, nothing is written.
absl::Status ExportCommand(const ExportOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_EXPORT_EXPORT_H_
