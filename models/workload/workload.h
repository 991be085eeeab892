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
  kLinear,       // [rows, inner] x [inner, columns]; the second matrix is a weight
  kMatmul,       // `batch` products [rows, inner] x [inner, columns] of activations
  kConvolution,  // `batch` images, `inner` channels to `columns` channels
  // `batch` heads of softmax(scale * q k^T) v in one pass: `rows` queries, `columns` keys, head width `inner`
  kAttention,
  kLayerNorm,
  kBatchNorm,
  kNormalize,  // normalisation to unit length: XCA's q and k, XNorm
  kSoftmax,
  kGelu,
  kRelu,
  kScale,     // product with one factor or a vector: logits, temperature, LayerScale
  kAffine,    // scale and shift
  kAdd,       // sum of two tensors: residuals, positions
  kScaleAdd,  // x + gamma y: LayerScale and its residual in one pass
  kPool,
  kConcatenate,  // only copies: class token, channels of two branches
  kMean,         // mean over the tokens of an image
  kCustom,       // a family's own loops, without counted operations
};

using ModelPart = program::Part;

// One operator of a forward pass with its cost, for the whole batch. Sizes that the kind of the operator does not use
// keep their defaults (see OperatorKind).
struct Operator {
  std::string name;  // "blocks.0.attention.qkv"
  OperatorKind kind = OperatorKind::kLinear;
  ModelPart part = ModelPart::kInput;
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
  int height = 0;  // height and width of a convolution's or pool's input
  int width = 0;
  int kernel = 0;
  int stride = 0;
  int padding = 0;
  int groups = 1;
  bool has_bias = false;
  // Operations applied to the result before it is written.
  int pool = 0;             // side of a max pool; 0 for none
  bool gelu = false;        // true: GELU follows
  bool batch_norm = false;  // true: a scale and shift per channel follows
  // Kind of a matrix product in attention over channels. kProduct: a^T b over the tokens of an image and head, which
  // gives scores or a context; kMix: the tokens times the matrix from kProduct.
  enum class Channels { kNo, kProduct, kMix };
  Channels channels = Channels::kNo;
  int64_t macs = 0;        // multiply-adds of matrix products and convolutions; 0 for every other kind
  int64_t elements = 0;    // values written; for kAttention the logits, which stay in registers
  int64_t parameters = 0;  // trainable, owned by this operator; a reused weight counts once
  // Memory traffic at 4 bytes per value; each operand is read once, and each result is written once.
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;

  int64_t bytes() const { return bytes_read + bytes_written; }
};

// Operators in the order of the forward pass.
using Workload = std::vector<Operator>;

// A batch of equal images.
struct WorkloadInput {
  int height = 0;  // pixels
  int width = 0;
  int images = 1;
  friend bool operator==(const WorkloadInput&, const WorkloadInput&) = default;
};

// Form of the forward pass. Both forms give the same results.
enum class Form {
  // The form of the papers' code, on which the figures in the papers are based. Every norm is computed for all tokens,
  // class attention computes the queries of all tokens, F-SNE's codes are input channels, and the softmax reads its
  // logits from memory.
  kPublished,
  // The form that the reference executes. It omits values that neither affect the logits nor are the tokens after a
  // block (program::ResultsOfRun). F-SNE is computed in factored form, and softmax attention is fused. The engine omits
  // further values in the last block.
  kExecuted,
};

// Computes the workload from config and sizes only. INVALID_ARGUMENT: the config is invalid, or the input has no image
// or no cell. ModelDescription::GridFor checks whether the model accepts the input.
absl::StatusOr<Workload> WorkloadOf(const v1::ModelConfig& config, const WorkloadInput& input,
                                    Form form = Form::kExecuted);

// Returns the input for which a model's figures are given: one image of the fixed size. With native resolution, the
// image has the grid of the position table. Without a table, the image is the square nearest to 224x224 that the model
// accepts.
WorkloadInput DefaultInput(const v1::ModelConfig& config);

// Returns the number of tokens of one image, including prefix tokens.
int64_t TokensOf(const v1::ModelConfig& config, const WorkloadInput& input);

// Returns "LINEAR", "LAYER_NORM", ...
std::string_view KindName(OperatorKind kind);
// Returns the sizes as text: "[197, 768] x [768, 2304]".
std::string ShapeInWords(const Operator& op);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_WORKLOAD_H_
