// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PLAN_LOWERING_H_
#define VITRINE_MODELS_ENGINE_PLAN_LOWERING_H_

#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "models/engine/plan/fold.h"
#include "models/engine/plan/operator_weights.h"
#include "models/engine/plan/plan.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/program/demand.h"
#include "models/program/program.h"
#include "models/program/readers.h"

namespace vitrine::engine {

// Lowers one program. `values_` has the Operand (columns of a buffer) of each value that is already computed. Each kind
// of operator has an overload of Do.
class Lowering {
 public:
  Lowering(const program::Program& program, WeightSource& weights, const PrecisionChoice& choice, bool has_bf16,
           bool tokens, bool head_rows);

  absl::StatusOr<LoweredPlan> Run();

 private:
  using Operator = program::Operator;
  using Value = program::Value;
  using Demand = program::Demand;

  // Operators that follow a product and are computed in the same step.
  struct Tail {
    Activation activation = Activation::kNone;
    const Operator* last = nullptr;  // its output is the step's result
  };

  // --- operands

  Demand Wanted(Value value) const { return demands_[static_cast<size_t>(value.id)]; }
  // Returns the operand of `value` for the operator that computes `result`. If only the tokens that a head reads are
  // computed for `result`, but `value` has more tokens, returns a copy of these tokens. Adds the steps that copy,
  // unless an earlier call has added them.
  Operand Read(Value value, Value result);
  Operand Read(Value value) { return values_[static_cast<size_t>(value.id)]; }
  bool IsThere(Value value) const { return values_[static_cast<size_t>(value.id)].buffer >= 0; }
  bool IsTokens(Value value) const { return program_.info(value).kind == program::ValueKind::kTokens; }
  // Returns which rows of a value are computed.
  RowsOf RowsOfValue(Value value) const;
  // Returns true if a value consists of tokens, and if only the tokens that a head reads are computed.
  bool HeadsAlone(Value value) const { return IsTokens(value) && RowsOfValue(value) != RowsOf::kTokens; }
  RowsOf RowsOfBuffer(Operand operand) const { return plan_.buffers[static_cast<size_t>(operand.buffer)].rows; }
  Operand NewBuffer(RowsOf rows, int64_t columns);
  // Allocates a buffer for a value and makes it the value's operand.
  Operand Write(Value value);
  void Put(Value value, Operand operand) { values_[static_cast<size_t>(value.id)] = operand; }
  void Add(const Operator& op, decltype(PlanStep::settings) step);
  // Adds a HandOut step for each stage whose value has been computed since the last call.
  void HandOut();
  void Refuse(const Operator& op, absl::string_view why);

  // --- weights

  Precision PrecisionOf(const Operator& op) const;
  // Returns the precision of products of two activations: bf16 if the model is bf16 or int8, the device supports bf16
  // and `op` is not in PrecisionChoice::kept; else fp32.
  Precision PrecisionOfProducts(const Operator& op) const;
  // Returns true if all convolutions of images and maps can be bf16 and none of them is in PrecisionChoice::kept.
  bool HasNarrowStem() const;
  // Returns a matrix with the weights that `base` returns, after `folds` have been applied in their order.
  FoldedMatrix MatrixOf(const Operator& op, int64_t inputs, int64_t outputs, Precision precision,
                        std::function<LinearWeights()> base, std::vector<ColumnFold> folds = {});

  // Finds the operators after `op` that the same step can compute, and adds them to `done_`. Stops at a value that
  // several operators read. Appends the operators that scale and shift columns to `folds`.
  Tail Follow(const Operator& op, std::vector<ColumnFold>& folds);
  // Returns the operator after `tail` that adds a residual, if the same step can compute this operator, else null. The
  // operator's other input must already have an operand.
  const Operator* ResidualAfter(const Tail& tail) const;

  // A linear layer with the operators folded into it. The only operand set in `step` is the residual.
  struct Folded {
    LinearStep step;
    const Operator* last;  // its output is the step's result
  };
  Folded FoldLinear(const Operator& op, const program::Linear& linear);
  // Returns the linear layer that is the only reader of the result of `folded`. Null if there is none, or if the two
  // layers cannot run in one step.
  const Operator* LinearAfter(const Folded& folded) const;

  // --- operators

  void Do(const Operator& op, const program::Convolve& convolve);
  void Do(const Operator& op, const program::ToTokens&);
  void Do(const Operator& op, const program::Patchify& patchify);
  void Do(const Operator& op, const program::TablePosition& position);
  void Do(const Operator& op, const program::FourierPosition&);
  void Do(const Operator& op, const program::ClassToken& token);
  void Do(const Operator& op, const program::JoinClass&);
  void Do(const Operator& op, const program::TakeClass& take);
  void Do(const Operator& op, const program::TakeCells&);
  void Do(const Operator& op, const program::MeanTokens&);
  void Do(const Operator& op, const program::UnitLength&);
  void Do(const Operator& op, const program::Constant&);
  void Do(const Operator& op, const program::Custom& custom);

  void Do(const Operator& op, const program::LayerNorm& norm);
  void Do(const Operator& op, const program::BatchNorm&);
  void Do(const Operator& op, const program::Affine&);
  void Do(const Operator& op, const program::Linear& linear);
  // Lowers a layer whose inputs are x and a constant code (Linear::code). Since W [x, code] = W_x x + W_c code, layers
  // with the same W and x share one computation of W_x x.
  void DoCoded(const Operator& op, const program::Linear& linear);
  void Do(const Operator& op, const program::Activate&);
  void Do(const Operator& op, const program::Residual&);
  void Do(const Operator& op, const program::Columns& columns);
  void Do(const Operator& op, const program::Concatenate&);
  void Do(const Operator& op, const program::Add& add);
  void Do(const Operator& op, const program::Drop&);

  void Do(const Operator& op, const program::Attend& attend);
  void Do(const Operator& op, const program::AttendChannels& attend);
  void Do(const Operator& op, const program::AttendLinearly& attend);
  void Do(const Operator& op, const program::ConvolveGrid& convolve);
  void DoDepthwise(const Operator& op, Operand x);

  // Returns one operand with the columns of all inputs of `op`.
  Operand Joined(const Operator& op);
  std::vector<Operand> Parts(Operand operand, int count) const;

  const program::Program& program_;
  const OperatorWeights weights_;
  const PrecisionChoice& choice_;
  const bool has_bf16_, head_rows_;
  const std::vector<Demand> demands_;
  const program::SingleReaderIndex readers_;
  const bool narrow_stem_;
  std::vector<Operand> values_;                       // operand by value id; buffer is -1 until the value is computed
  std::map<int, const Operator*> norms_;              // by output value: a LayerNorm computed in the next step
  std::map<int, std::vector<StemConvolution>> maps_;  // by value: the layers that compute a map
  std::multimap<int, int> stages_;                    // by value: stages that have no HandOut step yet
  std::set<const Operator*> done_;                    // operators that another operator's step computes
  std::map<std::pair<int, int>, size_t> products_;    // index of the step of W_x x (see DoCoded), by x and W
  // Operands to which Read has copied tokens, by buffer, first column, number of columns, and kind of rows.
  std::map<std::tuple<int, int64_t, int64_t, RowsOf>, Operand> taken_rows_;
  const Operator* current_ = nullptr;
  absl::Status status_;  // error of the first operator that no step can compute
  LoweredPlan plan_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_LOWERING_H_
