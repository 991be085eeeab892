// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_HEAD_HEAD_H_
#define VITRINE_MODELS_TOOL_PUBLISH_HEAD_HEAD_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

struct HeadOptions {
  std::string repository;
  std::string which;                 // MODEL or MODEL@VERSION
  std::string name;                  // model to publish under; empty: the same model
  std::string data;                  // FORMAT:PATH, as for OpenDataset; its training split is used
  std::string kind = "probe";        // or "prototypes"
  std::optional<double> alpha = {};  // penalty of a probe; nullopt: chosen by leave-one-out error
};

// Publishes a version whose classifier is computed from the features of labelled images in one pass, without training.
// All other weights and the preprocessing are copied from the given version. The new version has the classes of the
// data. Prints the result to stdout and progress to stderr. FAILED_PRECONDITION: the logits of the version are not
// computed by one linear layer, the data have fewer than two classes, or a class has fewer than two images. DATA_LOSS
// names all images that cannot be decoded. After an error, nothing is published.
absl::Status HeadCommand(const HeadOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_HEAD_HEAD_H_
