// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_PASS_H_
#define VITRINE_MODELS_REFERENCE_PASS_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/reference/interpreter.h"
#include "models/reference/operators/batch_norm.h"
#include "models/reference/operators/convolution/convolution_stem.h"
#include "models/reference/packed_tokens.h"

namespace vitrine {

// One forward pass: the data of every value of the program, and an overload of Do for each kind of operator.
class Interpreter::Pass {
 public:
  Pass(const Interpreter& plan, const std::vector<at::Tensor>& weights, const ImageBatch& images,
       const ForwardContext& context);

  at::Tensor Run();

 private:
  using Operator = program::Operator;
  using Value = program::Value;
  using Demand = program::Demand;

  void Run(const OperatorStep& step);

  void Release(Value value);

  struct Held {
    at::Tensor data;           // [rows, columns]; the last rows may be padding
    Maps maps;                 // for a map: images [C, H, W], or runs [B, C, H, W] of images of equal size
    bool class_alone = false;  // for tokens: true if `data` has only the class tokens' rows
  };

  static size_t At(Value value) { return static_cast<size_t>(value.id); }
  Demand Wanted(Value value) const { return demands_[At(value)]; }
  const at::Tensor& Weight(const Operator& op, size_t i) const { return weights_[static_cast<size_t>(op.weights[i])]; }
  at::Tensor WeightOr(const Operator& op, size_t i) const;
  const std::shared_ptr<const TokenLayout>& LayoutOf(Value value) const;
  PackedTokens Packed(Value value) const { return {held_[At(value)].data, LayoutOf(value)}; }

  // Returns input number i. If only the class tokens of the operator's result are needed, returns only their rows.
  at::Tensor Input(const Operator& op, size_t i) const;

  at::ScalarType TypeOf(const Operator& op, const at::Tensor& x) const;

  void HandOut(Value value);

  // --- from images to tokens

  void Do(const Operator& op, const program::Convolve& convolve, Held& result);
  void Do(const Operator& op, const program::ToTokens&, Held& result);
  void Do(const Operator& op, const program::Patchify& patchify, Held& result);
  void Do(const Operator& op, const program::TablePosition& position, Held& result);
  void Do(const Operator& op, const program::FourierPosition&, Held& result);
  void Do(const Operator& op, const program::ClassToken& token, Held& result);
  void Do(const Operator& op, const program::JoinClass&, Held& result);
  void Do(const Operator& op, const program::TakeClass& take, Held& result);
  void Do(const Operator& op, const program::TakeCells&, Held& result);
  void Do(const Operator& op, const program::MeanTokens&, Held& result);
  void Do(const Operator& op, const program::UnitLength&, Held& result);
  void Do(const Operator& op, const program::Custom& custom, Held& result);

  // --- operations on single rows

  void Do(const Operator& op, const program::LayerNorm& norm, Held& result);

  BatchNormTensors Norm(const Operator& op) const;

  // Excludes padding rows from the statistics of the batch.
  void Do(const Operator& op, const program::BatchNorm&, Held& result);
  void Do(const Operator& op, const program::Affine&, Held& result);
  void Do(const Operator& op, const program::Linear& linear, Held& result);

  // Computes W [x, code] = W_x x + W_c code. The code is the same for every token, so W_c code is one vector. Stores
  // W_x x for the other layers with the same x and weight, which differ only in the code: the layers of q, k and v.
  at::Tensor Coded(const Operator& op, const program::Linear& linear);

  void Do(const Operator& op, const program::Activate& activate, Held& result);
  void Do(const Operator& op, const program::Residual& residual, Held& result);
  void Do(const Operator& op, const program::Columns& columns, Held& result);
  void Do(const Operator& op, const program::Concatenate&, Held& result);
  void Do(const Operator& op, const program::Add& add, Held& result);

  void Do(const Operator& op, const program::Drop& drop, Held& result);
  void Do(const Operator& op, const program::Constant&, Held& result);

  // --- attention and grid convolutions

  // Returns an input as [rows, heads, d_h].
  at::Tensor Heads(const Operator& op, size_t i, int heads) const;

  void Do(const Operator& op, const program::Attend& attend, Held& result);

  // Computes attention of the KV family.
  at::Tensor Keyed(const Operator& op, const program::Attend& attend, const at::Tensor& qkv,
                   const TokenLayout& layout) const;

  void Do(const Operator& op, const program::AttendChannels& attend, Held& result);
  void Do(const Operator& op, const program::AttendLinearly& attend, Held& result);
  void Do(const Operator& op, const program::ConvolveGrid& convolve, Held& result);

  const Interpreter& plan_;
  const program::Program& program_;
  const std::vector<at::Tensor>& weights_;
  const ForwardContext& context_;
  const std::vector<Demand> demands_;
  std::vector<Held> held_;  // by value id
  const OperatorStep* step_ = nullptr;
  std::shared_ptr<const TokenLayout> cells_;
  std::shared_ptr<const TokenLayout> tokens_;
  std::map<std::pair<int, int>, at::Tensor> products_;  // W_x x of F-SNE's first layer, by value and weight
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_PASS_H_
