// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_BUILDER_H_
#define VITRINE_MODELS_WORKLOAD_BUILDER_H_

#include <string>
#include <utility>

#include "models/token_layout.h"
#include "models/workload/workload.h"

namespace vitrine::workload {

// Builds a list of operators. Methods return the added operator so that the caller can adjust its fields; the reference
// is valid until the next call.
class Builder {
 public:
  // Starts an empty list for a batch of `images` images. Each image has `prefix` prefix tokens and then a token for
  // each cell of `grid`.
  Builder(int images, Grid grid, int prefix) : images_(images), grid_(grid), prefix_tokens_(prefix) {}

  int64_t images() const { return images_; }
  Grid grid() const { return grid_; }
  int64_t cells() const { return images_ * grid_.cells(); }  // patch tokens of the batch
  int64_t tokens() const { return images_ * (grid_.cells() + prefix_tokens_); }

  // Assigns the operators added from now on to the section `part` of the model.
  void Enter(ModelPart part) { part_ = part; }
  // Runs `describe`. The names that it adds begin with `prefix` and a dot.
  template <typename Describe>
  void Within(const std::string& prefix, const Describe& describe) {
    const std::string outer = prefix_;
    prefix_ += prefix + ".";
    describe();
    prefix_ = outer;
  }

  // Adds a dense layer on `rows` tokens, with its own weights.
  Operator& Linear(std::string name, int64_t rows, int64_t inputs, int64_t outputs, bool bias = true);
  // Adds the product a^T b, a sum over `tokens` tokens, per image and head. The result is [head_width, head_width].
  Operator& ChannelProduct(std::string name, int64_t heads, int64_t tokens, int64_t head_width);
  // Adds a matrix product per image and head: [tokens, head_width] times [head_width, head_width].
  Operator& MixChannels(std::string name, int64_t heads, int64_t tokens, int64_t head_width);
  Operator& Matmul(std::string name, int64_t batch, int64_t rows, int64_t inner, int64_t columns);
  // Adds softmax attention of `queries` queries over `keys` keys, per image and head.
  Operator& Attention(std::string name, int64_t heads, int64_t queries, int64_t keys, int64_t head_width);

  struct Convolved {
    int64_t inputs = 0;
    int64_t outputs = 0;
    int height = 0;
    int width = 0;
    int kernel = 3;
    int stride = 1;
    int padding = 1;
    int groups = 1;
    bool bias = false;
  };
  Operator& Convolution(std::string name, const Convolved& sizes);
  // Adds a convolution of the patch tokens on their grid, stride 1.
  Operator& GridConvolution(std::string name, int64_t inputs, int64_t outputs, int groups, bool bias);
  // Adds the pooling of an image of height x width, with stride = kernel and without padding.
  Operator& Pool(std::string name, int64_t channels, int height, int width, int kernel);

  // Adds an operator on [rows, columns]. LayerNorm computes its parameter count from `width`.
  Operator& LayerNorm(std::string name, int64_t rows, int64_t width);
  Operator& Elementwise(OperatorKind kind, std::string name, int64_t rows, int64_t columns, int64_t parameters = 0);
  Operator& Gelu(std::string name, int64_t rows, int64_t columns) {
    return Elementwise(OperatorKind::kGelu, std::move(name), rows, columns);
  }
  Operator& Add(std::string name, int64_t rows, int64_t columns) {
    return Elementwise(OperatorKind::kAdd, std::move(name), rows, columns);
  }

  // Returns the operators added since the last call.
  Workload Take() { return std::exchange(operators_, {}); }

 private:
  Operator& Append(OperatorKind kind, std::string name);

  const int64_t images_;
  const Grid grid_;
  const int prefix_tokens_;
  ModelPart part_ = ModelPart::kInput;
  std::string prefix_;
  Workload operators_;
};

}  // namespace vitrine::workload

#endif  // VITRINE_MODELS_WORKLOAD_BUILDER_H_
