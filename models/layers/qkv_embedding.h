// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_QKV_EMBEDDING_H_
#define VITRINE_MODELS_LAYERS_QKV_EMBEDDING_H_

#include <memory>

#include "models/forward_context.h"
#include "models/layers/initializer.h"
#include "models/module.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// [T, width] each; rows may be strided.
struct Qkv {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

// How tokens become queries, keys and values. Linear layers have biases; ReLU stands between them, none after the last.
//   LINEAR  q, k, v = x W + b, one layer width -> 3 width
//   SNE     a network of its own for each: width -> embedding_width -> ... -> width
//   P_SNE   first layers of their own, width -> embedding_width, and one second layer that all three share
//   F_SNE   one network for all three, width + code_length -> embedding_width -> width; its input is [x, C] with the
//   code C
//           of q, k or v, the same for every token
class QkvEmbedding : public Module {
 public:
  // `codes` is the model's [3, code_length] of F_SNE; unused where every block has its own, and by other kinds.
  virtual Qkv Forward(const at::Tensor& x, const at::Tensor& codes, const ForwardContext& context) const = 0;
};

std::unique_ptr<QkvEmbedding> MakeQkvEmbedding(const v1::XcitConfig& config, Initializer& initializer);

// Initial codes of q, k and v: [3, length], N(0, 1).
at::Tensor InitialCodes(int length, Initializer& initializer);

// What trained codes say about themselves.
struct CodeGeometry {
  at::Tensor cosines;  // [3, 3]: cosine similarity of the codes of q, k and v
  at::Tensor norms;    // [3]: their l2 norms
};
CodeGeometry GeometryOf(const at::Tensor& codes);

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_QKV_EMBEDDING_H_
