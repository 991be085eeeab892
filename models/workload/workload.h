// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_WORKLOAD_H_
#define VITRINE_MODELS_WORKLOAD_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/program/operators.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

enum class OperatorKind {
  kLinear,       // [rows, inner] x [inner, columns], a weight
  kMatmul,       // batch products [rows, inner] x [inner, columns] of activations
  kConvolution,  // batch images of `inner` channels to `columns` channels
  kAttention,    // softmax(q k^T scale) v in one pass: batch heads, rows queries, columns keys, inner head width
  kLayerNorm,
  kBatchNorm,
  kNormalize,  // to unit length: XCA's q and k, XNorm
  kSoftmax,
  kGelu,
  kRelu,
  kScale,     // by one factor or a vector: logits, temperature, LayerScale
  kAffine,    // scale and shift
  kAdd,       // of two tensors: residuals, positions
  kScaleAdd,  // x + gamma y, a LayerScale and its residual in one pass
  kPool,
  kConcatenate,  // moves values only: class token, channels of two branches
  kMean,         // over the tokens of an image
  kCustom,       // a family's own loops; what they compute is not counted
};

using ModelPart = program::Part;

// One operator of a forward pass with its cost. Sizes that its kind does not use are 0; see OperatorKind.
// All counts are for the whole batch.
struct Operator {
  std::string name;  // "blocks.0.attention.qkv"
  OperatorKind kind = OperatorKind::kLinear;
  ModelPart part = ModelPart::kInput;
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
  int height = 0;  // of a convolution's or pool's input
  int width = 0;
  int kernel = 0;
  int stride = 0;
  int padding = 0;
  int groups = 1;
  bool has_bias = false;
  // What the result goes through before it is written.
  int pool = 0;             // side of a max pool; 0 without
  bool gelu = false;        // GELU
  bool batch_norm = false;  // then a scale and a shift of every channel
  // A product over the tokens of every image and head (scores, context), or of its result with them.
  enum class Channels { kNo, kProduct, kMix };
  Channels channels = Channels::kNo;
  int64_t macs = 0;        // multiply-adds of matrix products and convolutions; 0 for every other kind
  int64_t elements = 0;    // values written; of kAttention logits, which are never written
  int64_t parameters = 0;  // trainable, owned by this operator; a weight that is used again counts once
  // At 4 bytes a value, every operand read once and every result written once.
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;

  int64_t bytes() const { return bytes_read + bytes_written; }
};

// In the order of the forward pass.
using Workload = std::vector<Operator>;

// A batch of equal images.
struct WorkloadInput {
  int height = 0;  // pixels
  int width = 0;
  int images = 1;
  friend bool operator==(const WorkloadInput&, const WorkloadInput&) = default;
};

// Which forward pass. They give the same answers.
enum class Form {
  // As the paper's own code does it, on which its figures rest: every norm on all tokens, queries of all tokens in
  // class attention, F-SNE's codes as input channels, softmax on logits in memory.
  kPublished,
  // As this program does it: only what reaches the head is computed, F-SNE is factored, softmax attention fused.
  kExecuted,
};

// From config and sizes alone; nothing is built. INVALID_ARGUMENT for a config without a family or an input that has no
// cell. Whether the model takes the input is Model::GridFor's to say.
absl::StatusOr<Workload> WorkloadOf(const v1::ModelConfig& config, const WorkloadInput& input,
                                    Form form = Form::kExecuted);

// The input that a model's figures are given for, one image: its fixed size; else the grid of its position table; else
// the square nearest to 224x224 that it takes.
WorkloadInput DefaultInput(const v1::ModelConfig& config);

// Tokens of one image, with the class token.
int64_t TokensOf(const v1::ModelConfig& config, const WorkloadInput& input);

// "LINEAR", "LAYER_NORM", ...
std::string_view KindName(OperatorKind kind);
// The sizes in words: "[197, 768] x [768, 2304]".
std::string ShapeInWords(const Operator& op);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_WORKLOAD_H_
