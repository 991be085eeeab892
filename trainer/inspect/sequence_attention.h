// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_INSPECT_SEQUENCE_ATTENTION_H_
#define VITRINE_TRAINER_INSPECT_SEQUENCE_ATTENTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/inspect/sequence_run.h"

namespace vitrine {

struct MapChoice {
  std::optional<int> layer = {};  // nullopt: every layer
  std::string head = {};          // an index, "mean" for the mean over heads, or empty for every head
  bool scores = false;            // true: the softmax's input before any mask; false: attention weights
};

// Attention matrix of one head, or of the mean over heads, in one layer.
struct SequenceMap {
  int layer = 0;          // layer's index, as SequenceModel::Forward numbers the layers
  int head = 0;           // -1: mean over heads
  std::string part = {};  // of an encoder-decoder: "source", "target" (self-attention) or "target to source"
  std::vector<std::string> queries = {}, keys = {};
  std::vector<float> values = {};  // row-major, [queries, keys]
};

// Returns the chosen maps, by layer, then head. INVALID_ARGUMENT names the layer or head that does not exist.
absl::StatusOr<std::vector<SequenceMap>> CollectMaps(const SequenceModel& model, const NamedSequence& sequence,
                                                     const MapChoice& choice);

// Maps of one sequence: a row for each layer, a column for each head, all with the same colours.
struct SequenceFigure {
  std::string title = {}, note = {};
  bool scores = false;  // true: values are scores, which may be negative and have any sum
  std::vector<SequenceMap> maps = {};
};

// Returns the figure as a file of the kind "svg", "png" or "json". Requires at least one map, and the same number of
// maps for every layer. Drawings have the tokens on both axes. A PNG has a font with only ASCII characters, so other
// characters are replaced. A PNG also leaves out names that do not fit. JSON:
//   {"title", "note", "maps": [{"layer", "head" (null: the mean), "part", "queries": [names], "keys": [names],
//    "rows", "columns", "values": row-major}]}
absl::StatusOr<std::string> SequenceFigureFile(const SequenceFigure& figure, const std::string& kind);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_INSPECT_SEQUENCE_ATTENTION_H_
