// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EMBED_COMMAND_H_
#define VITRINE_CLIENT_EMBED_COMMAND_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/classify_command.h"

namespace vitrine {

// What `vitrine embed` was asked to do.
struct EmbedCommand {
  std::vector<std::string> paths;  // pictures, folders of pictures, patterns (see FindPictures)
  PictureSearch search = {};
  ClientOptions client;
  ModelChoice model;
  v1::FeatureKind kind = v1::FEATURE_KIND_UNSPECIFIED;  // unspecified: the first vector that the model has
  bool normalize = false;                               // to the Euclidean length 1
  v1::Priority priority = v1::NORMAL;
  std::optional<v1::ResolutionWish> resolution;
  // "x.npy": one array with a row per picture, and their paths in x.txt; another name: a folder for a file per picture;
  // empty: no files, the numbers go into the JSON lines.
  std::string output;
  Format format = Format::kTable;
};

// Asks for the features of every picture, all of one version (`stable` where none is named), and writes them. A picture
// that cannot be read, that the server refuses, that another version computed, or whose features do not fit the array
// costs a line in `errors` and has no row.
// Returns how many pictures failed, or why nothing could be begun or completed.
absl::StatusOr<int> RunEmbed(const EmbedCommand& command, std::ostream& out, std::ostream& errors);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EMBED_COMMAND_H_
