// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_PROGRAM_H_
#define VITRINE_MODELS_PROGRAM_PROGRAM_H_

#include <algorithm>
#include <vector>

#include "models/program/operators.h"

namespace vitrine::program {

// A model: operators in execution order, their inputs and outputs, and their weights. Contains no tensor and no input
// size. Model families (models/families) make a program from a ModelConfig with a Builder. Immutable; thread-safe.
class Program {
 public:
  // Static properties of a value.
  struct ValueInfo {
    ValueKind kind = ValueKind::kMap;
    int64_t columns = 0;
    int scale = 1;  // side of a position in input pixels; for maps and tokens
  };

  const std::vector<Operator>& operators() const { return operators_; }
  // Returns trained weights, then weights that are only stored; both in the order of published checkpoints.
  const std::vector<Weight>& weights() const { return weights_; }
  // Returns the number of elements of all trained weights.
  int64_t parameters() const;
  // Indices into weights(), in the order in which initial values are drawn.
  const std::vector<int>& drawing_order() const { return drawing_order_; }
  const ValueInfo& info(Value value) const { return values_[static_cast<size_t>(value.id)]; }
  int values() const { return static_cast<int>(values_.size()); }

  Value images() const { return {0}; }
  Value logits() const { return logits_; }  // [images, classes]
  // Tokens after each block, for tests and for comparisons between engines.
  const std::vector<Value>& stages() const { return stages_; }
  Value final_tokens() const { return final_tokens_; }  // tokens that the head reads; id -1 if none
  Value projection() const { return projection_; }      // [images, width], CLIP's image vectors; id -1 if none

  // Returns the side of a grid cell in input pixels; 0 for a model without a grid.
  int cell() const { return cell_; }
  // Returns the kinds of the prefix tokens, in their order. Prefix tokens, such as the class token, precede the cells
  // of every image. Empty if the model has none.
  const std::vector<PrefixToken>& prefix() const { return prefix_; }
  int prefix_tokens() const { return static_cast<int>(prefix_.size()); }
  // Returns the number of prefix tokens of this kind.
  int Count(PrefixToken kind) const { return static_cast<int>(std::count(prefix_.begin(), prefix_.end(), kind)); }
  // Returns the number of rows before each image's cells in this value.
  int PrefixOf(Value value) const { return info(value).kind == ValueKind::kTokens ? prefix_tokens() : 0; }
  // Returns the grid of the learned positions; empty if there are none.
  Grid table() const { return table_; }

 private:
  friend class Builder;
  Program() = default;

  std::vector<Operator> operators_;
  std::vector<Weight> weights_;
  std::vector<int> drawing_order_;
  std::vector<ValueInfo> values_;
  std::vector<Value> stages_;
  Value logits_;
  Value final_tokens_;
  Value projection_;
  int cell_ = 0;
  std::vector<PrefixToken> prefix_;
  Grid table_;
};

// Height and width in pixels of an image, or in positions of a map.
struct MapSize {
  int height = 0;
  int width = 0;
};
MapSize ResultOf(const Convolve& convolve, MapSize size);
// Returns the size of every map, by value id, for an image of size `image`. Other values have size zero.
std::vector<MapSize> MapSizesOf(const Program& program, MapSize image);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_PROGRAM_H_
