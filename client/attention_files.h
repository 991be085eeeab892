// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_ATTENTION_FILES_H_
#define VITRINE_CLIENT_ATTENTION_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/numbers.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// "<stem>.<kind>.layer<N>.head<M>.png"; without layer for a map over all layers, without head for a mean over heads,
// "query<N>" for the kind of one query, ".svg" for a distance plot. `asked` is what the map answers.
std::string AttentionFileName(const std::string& stem, const v1::AttentionMap& map, const v1::AttentionRequest& asked);

// "<stem>.<kind>.sheet.png"
std::string SheetFileName(const std::string& stem, const v1::AttentionRequest& asked);

// "<stem>.attention.png"
std::string SideBySideFileName(const std::string& stem);

// Where the drawings of one picture go.
struct AttentionFiles {
  std::string folder;
  std::string stem;    // of their names
  bool sheet = false;  // one file for all maps of a kind, wherever a kind has more than one
  // The model's attention is signed (X-ViT), so that its distances weigh by magnitudes; the plot's title says so.
  bool signed_attention = false;
  // One file with the picture and every map but the distances: a column for each kind, and where a kind has several
  // maps a row for each of them.
  bool side_by_side = false;
};

// Draws every map of the answer into a file and returns the paths in the order of the maps, one path repeated for maps
// that share a file. Grid kinds lie over the picture, matrices are figures of their own, distances a plot. `asked` is
// the request that was answered, `encoded` the picture's file; it is decoded once, and only if a map needs it.
absl::StatusOr<std::vector<std::string>> WriteAttention(const AttentionFiles& files, const v1::ClassifyRequest& asked,
                                                        std::string_view encoded, const v1::ClassifyResponse& answer);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_ATTENTION_FILES_H_
