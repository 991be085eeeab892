#ifndef VITRINE_CLIENT_ATTENTION_FILES_H_
#define VITRINE_CLIENT_ATTENTION_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The values of a map, row-major. INVALID_ARGUMENT if `map` holds a picture, or bytes that do not fit its shape.
absl::StatusOr<std::vector<float>> AttentionValues(const v1::AttentionMap& map);

// "<stem>.<kind>.layer<N>.head<M>.png"; without layer for a map over all layers, without head for a mean over heads.
std::string AttentionFileName(const std::string& stem, const v1::AttentionMap& map);

// Draws every map of the answer into a file of `folder`, over the picture where it is spatial, and returns the paths in
// the order of the maps. `encoded` is the picture's file; it is decoded once, and only if a map needs it.
absl::StatusOr<std::vector<std::string>> WriteAttention(const std::string& folder, const std::string& stem,
                                                        std::string_view encoded, const v1::ClassifyResponse& answer);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_ATTENTION_FILES_H_
