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

// Returns "<stem>.<kind>.layer<N>.head<M>.png"; without layer for a map over all layers, without head for a mean over
// heads; with "query<N>" for QUERY_ROW and ".svg" for a distance plot. `asked` is the request of the map.
std::string AttentionFileName(const std::string& stem, const v1::AttentionMap& map, const v1::AttentionRequest& asked);

// "<stem>.<kind>.sheet.png"
std::string SheetFileName(const std::string& stem, const v1::AttentionRequest& asked);

// "<stem>.attention.png"
std::string SideBySideFileName(const std::string& stem);

// Destination of the drawings of one image.
struct AttentionFiles {
  std::string folder;
  std::string stem;    // start of their file names
  bool sheet = false;  // one file for all maps of a kind that has several
  // True if the model's attention is signed (X-ViT): distances are weighted by magnitude, as the plot's title says.
  bool signed_attention = false;
  // One file with the image and all maps except distances: one column per kind, and one row per map of that kind.
  bool side_by_side = false;
};

// Draws every map of the answer into a file and returns the paths in the order of the maps; maps that share a file have
// equal paths. Grid kinds are drawn over the image, matrices as figures, distances as a plot. `asked` is the request,
// `encoded` the image file; it is decoded once, and only if a map needs it.
absl::StatusOr<std::vector<std::string>> WriteAttention(const AttentionFiles& files, const v1::ClassifyRequest& asked,
                                                        std::string_view encoded, const v1::ClassifyResponse& answer);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_ATTENTION_FILES_H_
