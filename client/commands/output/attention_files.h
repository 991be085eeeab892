// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_ATTENTION_FILES_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_ATTENTION_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/lib/numbers.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// Returns "<stem>.<kind>.layer<N>.head<M>.png". The name of an attention map over all layers has no "layer<N>", and the
// name of a mean over heads has no "head<M>". For QUERY_ROW, <kind> is "query<N>", with the index of the patch. The
// name of a distance plot is "<stem>.<kind>.svg". `asked` is the part of the caller's request that asked for `map`.
std::string AttentionFileName(const std::string& stem, const v1::AttentionMap& map, const v1::AttentionRequest& asked);

// Returns "<stem>.<kind>.sheet.png", with the <kind> of AttentionFileName.
std::string SheetFileName(const std::string& stem, const v1::AttentionRequest& asked);

// Returns "<stem>.attention.png".
std::string SideBySideFileName(const std::string& stem);

// Destination of the drawings of one image.
struct AttentionFiles {
  std::string folder;
  std::string stem;    // start of the drawings' file names
  bool sheet = false;  // one file for each kind that has several maps
  // True if the model's attention is signed (X-ViT). Distances are then weighted by magnitude, and the plot's title
  // says so.
  bool signed_attention = false;
  // One file with the image and all attention maps except distances. It has a column per kind, and in each column a row
  // per map.
  bool side_by_side = false;
};

// Draws every attention map of the answer into a file and returns the paths in the order of the maps; maps that share a
// file have equal paths. Maps on the image's grid are drawn over the image, matrices as figures, and distances as a
// plot. `asked` is the request. `encoded` is the image file, which is decoded at most once.
absl::StatusOr<std::vector<std::string>> WriteAttention(const AttentionFiles& files, const v1::ClassifyRequest& asked,
                                                        std::string_view encoded, const v1::ClassifyResponse& answer);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_ATTENTION_FILES_H_
