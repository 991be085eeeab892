// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_ENDS_H_
#define VITRINE_TRAINER_LAB_ENDS_H_

#include <memory>
#include <optional>

#include "trainer/lab/attention.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine::sequences {

// Returns the sinusoids of positions t = 0..length-1, [length, width]: sin(t w_k) and cos(t w_k) with w_k =
// 10000^(-2k/width), at channels 2k and 2k + 1; if `halves`, at channels k and width / 2 + k. Requires an even width.
at::Tensor Sinusoids(int64_t length, int64_t width, bool halves);

// Position encodings, added to the elements of a sequence. NONE adds nothing.
class Positions : public Module {
 public:
  Positions(const v1::SequenceConfig& config, Initializer& initializer);

  // x [B, n, width] -> the same shape, n up to max_length.
  at::Tensor Add(const at::Tensor& x) const;

 private:
  const v1::SequenceConfig::Positions kind_;
  at::Tensor table_;  // [max_length, width]; a trained parameter if the config says LEARNED
};

// An embedding, multiplied by sqrt(width) if `scaled`.
class Embedding : public Module {
 public:
  Embedding(const v1::SequenceConfig& config, int vocabulary, bool scaled, Initializer& initializer);

  // ids [B, n] -> [B, n, width].
  at::Tensor Forward(const at::Tensor& ids) const;
  const at::Tensor& table() const { return table_; }  // [vocabulary, width]

 private:
  const double scale_;
  at::Tensor table_;
};

// Layers from the last block to the logits.
class Head : public Module {
 public:
  Head(const v1::SequenceConfig& config, Initializer& initializer);

  // [B, n, width] -> [B, n, outputs]. `table` is the embedding's table, whose values a TIED head uses as weights.
  // `site` is the head's dropout site.
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& table, int site, const ForwardContext& context) const;

 private:
  const v1::SequenceConfig::Head kind_;
  const bool drop_hidden_;
  std::optional<DenseLayer> hidden_;  // width -> width; only for a HIDDEN head, like norm_
  std::optional<LayerNorm> norm_;
  std::optional<DenseLayer> output_;  // width -> outputs; not for a TIED head
  at::Tensor bias_;                   // [outputs]; only for a TIED head
};

// Returns a mask [n, n] for MixValues that lets query i attend only to the keys j <= i.
at::Tensor CausalMask(int64_t n, const at::Device& device);

// MakeEncoder makes a model without a decoder, MakeEncoderDecoder a model with a decoder. Both require a valid config.
std::unique_ptr<SequenceModel> MakeEncoder(const v1::SequenceConfig& config, Initializer& initializer);
std::unique_ptr<SequenceModel> MakeEncoderDecoder(const v1::SequenceConfig& config, Initializer& initializer);

}  // namespace vitrine::sequences

#endif  // VITRINE_TRAINER_LAB_ENDS_H_
