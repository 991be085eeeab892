// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_EMBED_COMMAND_H_
#define VITRINE_CLIENT_COMMANDS_EMBED_COMMAND_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/commands/classify_command.h"

namespace vitrine {

// Arguments of `vitrine embed`.
struct EmbedCommand {
  std::vector<std::string> paths;  // images, folders of images, patterns (see FindImages)
  ImageSearch search = {};
  ClientOptions client;
  ModelChoice model;
  v1::FeatureKind kind = v1::FEATURE_KIND_UNSPECIFIED;  // unspecified: the first kind of vector that the model has
  bool normalize = false;                               // scale vectors to Euclidean length 1
  v1::Priority priority = v1::NORMAL;
  std::optional<v1::ResolutionWish> resolution;
  // Path of the output. "x.npy": one array with a row per image; x.txt lists the images' paths, and x.model.json names
  // the version. Any other name: a folder with one file per image, and the file model.json. The folder must not have
  // files of an earlier run. Empty: no files; the JSON lines have the numbers.
  std::string output;
  Format format = Format::kTable;
};

// Returns INVALID_ARGUMENT if the output would be a folder, but its name has the ending of a file format, such as
// x.csv.
absl::Status CheckEmbedOutput(const std::string& output);

// Returns `requested`, or if it is unspecified, the model's first kind of vector. INVALID_ARGUMENT: the model does not
// have the kind; the message lists its kinds. PERMISSION_DENIED: `requested` is unspecified, and this client may not
// look up the model. Also returns the errors of CheckLoaded.
absl::StatusOr<v1::FeatureKind> ChooseFeatureKind(v1::FeatureKind requested, const v1::ModelVersion& model);

// Requests the features of every image from one version (by default `stable`) and writes them. An image fails if it
// cannot be read or is rejected, if another version computed it, or if its features do not fit the array. It then gets
// a line in `errors` and no row. Returns the number of failed images, or an error if the run could not start or finish.
absl::StatusOr<int> RunEmbed(const EmbedCommand& command, std::ostream& out, std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_EMBED_COMMAND_H_
