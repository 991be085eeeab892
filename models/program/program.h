// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_PROGRAM_H_
#define VITRINE_MODELS_PROGRAM_PROGRAM_H_

#include <vector>

#include "models/program/operators.h"

namespace vitrine::program {

// A model: operators in the order in which they run, what they read and write, and their weights. No tensor and no size
// of an input is in it. A family makes it from a ModelConfig (models/families), by a Builder. Immutable; thread-safe.
class Program {
 public:
  // What is known of a value.
  struct ValueInfo {
    ValueKind kind = ValueKind::kMap;
    int64_t columns = 0;
    int scale = 1;  // of maps and tokens: pixels of the input along each side of one place
  };

  const std::vector<Operator>& operators() const { return operators_; }
  // Parameters, then what is stored only; each in the order of published checkpoints.
  const std::vector<Weight>& weights() const { return weights_; }
  // Numbers in those that are trained.
  int64_t parameters() const;
  // Places in weights(), in the order in which initial values are drawn.
  const std::vector<int>& drawing_order() const { return drawing_order_; }
  const ValueInfo& info(Value value) const { return values_[static_cast<size_t>(value.id)]; }
  int values() const { return static_cast<int>(values_.size()); }

  Value pictures() const { return {0}; }
  Value logits() const { return logits_; }  // [images, classes]
  // Tokens after each block, as features and comparisons read them, and those that the head reads its own from.
  const std::vector<Value>& stages() const { return stages_; }
  Value final_tokens() const { return final_tokens_; }  // id -1 where there are none

  // Pixels of the input per grid cell, along each side; 0 for a model without a grid.
  int cell() const { return cell_; }
  bool has_class_token() const { return class_token_; }
  // Rows of each image before its cells': one in tokens.
  int PrefixOf(Value value) const { return info(value).kind == ValueKind::kTokens ? 1 : 0; }
  // The grid that learned positions were made for; empty without.
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
  int cell_ = 0;
  bool class_token_ = false;
  Grid table_;
};

// Pixels of a picture, or places of a map.
struct MapSize {
  int height = 0;
  int width = 0;
};
MapSize ResultOf(const Convolve& convolve, MapSize size);
// Of every map of the program for a picture of this size, by the value's id; of other values zero.
std::vector<MapSize> MapSizesOf(const Program& program, MapSize picture);

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_PROGRAM_H_
