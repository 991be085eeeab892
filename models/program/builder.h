// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_PROGRAM_BUILDER_H_
#define VITRINE_MODELS_PROGRAM_BUILDER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/program/program.h"

namespace vitrine::program {

// Writes a program down, operator by operator. Every method that takes a name appends an operator of that name, which
// no other has, and returns its result; weights are called name.weight, name.bias, ... below the scope that Within
// opened, and a name that was used before is the same weight. Families call it with configs that they have validated:
// what does not fit together is a mistake in the family, and aborts.
class Builder {
 public:
  // Places for dropout in a block; those of the positions follow the last block's.
  static constexpr int kSitesPerBlock = 4;

  explicit Builder(int channels);  // of the pictures

  Value pictures() const { return {0}; }
  int64_t columns(Value x) const { return program_.info(x).columns; }

  // --- where it is

  // What `body` adds is named below `name`.
  template <class Body>
  auto Within(const std::string& name, const Body& body) {
    const Leave leave(*this, Open(name));
    return body();
  }
  // A block: within `name`, with places for dropout of its own; its result is handed out as a stage.
  template <class Body>
  Value Block(const std::string& name, const Body& body) {
    const Value x = Within(name, body);
    program_.stages_.push_back(x);
    site_ += kSitesPerBlock;
    return x;
  }
  // What follows belongs to this part.
  void Enter(Part part) { part_ = part; }
  // Initial values in this scope are drawn in this order, then the others as they were added. "blocks" stands for
  // blocks.0, blocks.1, ... too.
  void DrawsFirst(std::vector<std::string> names);
  // In checkpoints, and where nothing else is said in drawing too, these scopes come before those that follow here.
  void ListsFirst(const std::vector<std::string>& names);
  // The first of the current block's places for dropout.
  int site() const { return site_; }

  // --- weights

  // How Linear's weights start from here on: N(0, 0.02^2) and zeros as in timm, or PyTorch's uniform within
  // 1 / sqrt(inputs).
  enum class LinearInitial { kTruncatedNormal, kFanIn };
  void StartLinears(LinearInitial initial) { linear_initial_ = initial; }
  // Weight decay acts on what has two dimensions or more, but for those that are named here.
  int AddWeight(const std::string& name, std::vector<int64_t> shape, Initial initial, bool trained = true);
  int NeverDecays(int weight);

  // --- operators

  Value Convolve(const std::string& name, Value x, int64_t outputs, const program::Convolve& settings, bool bias);
  Value ToTokens(Value map) { return Add(Free("to_tokens"), program::ToTokens(), {map}, {}, CellsOf(map)); }
  Value Patchify(int patch);
  Value TablePosition(const std::string& name, Value x, Grid grid, Initial initial);
  Value FourierPosition(const std::string& name, Value x);
  Value ClassToken(const std::string& name, int64_t columns, Initial initial);
  Value JoinClass(const std::string& name, Value rows, Value cells);
  Value TakeClass(Value tokens);
  Value TakeCells(Value tokens);
  Value MeanTokens(Value cells);

  Value LayerNorm(const std::string& name, Value x, double epsilon);
  Value BatchNorm(const std::string& name, Value x);
  Value Affine(const std::string& name, Value x, double initial_scale);
  Value Linear(const std::string& name, const std::vector<Value>& x, int64_t outputs, bool bias = true);
  Value Linear(const std::string& name, Value x, int64_t outputs, bool bias = true) {
    return Linear(name, std::vector<Value>{x}, outputs, bias);
  }
  // With the weights `name` that others use too; the operator is name.use.
  Value SharedLinear(const std::string& name, const std::string& use, Value x, int64_t outputs);
  // Several on one value, which the papers' code computes as one product.
  std::vector<Value> LinearsTogether(const std::vector<std::string>& names, Value x, int64_t outputs);
  // The rows from `first_row` on of a weight of `rows` rows.
  Value LinearPart(const std::string& name, Value x, int64_t first_row, int64_t outputs, int64_t rows);
  // Of [x, row `code` of the weight `codes` [3, length]].
  Value CodedLinear(const std::string& name, Value x, int64_t outputs, int codes, int code);
  Value Gelu(const std::string& name, Value x);
  Value Relu(const std::string& name, Value x);
  // x + branch; with `scale` the weight of that name, [columns], on the branch. `path`: the place of its stochastic
  // depth, -1 without.
  Value Residual(const std::string& name, Value x, Value branch, int path);
  Value ScaledResidual(const std::string& name, Value x, Value branch, int path, const std::string& scale,
                       double initial_scale);

  // The layer and the place for dropout of weights are set here. `weights` as operators.h says.
  Value Attend(const std::string& name, const std::vector<Value>& qkv, program::Attend settings,
               const std::vector<int>& weights = {});
  Value AttendChannels(const std::string& name, const std::vector<Value>& qkv, program::AttendChannels settings);
  Value AttendLinearly(const std::string& name, const std::vector<Value>& qkv, program::AttendLinearly settings);
  Value ConvolveGrid(const std::string& name, Value x, bool depthwise);

  Value Columns(Value x, int64_t first, int64_t count);
  Value Concatenate(const std::string& name, const std::vector<Value>& x);
  Value Add(const std::string& name, Value x, Value y);
  Value Drop(Value x, program::Drop::Place place, int site);
  Value Constant(int64_t columns);
  Value Custom(const std::string& name, Value cells, program::Custom settings);

  // --- results

  void FinalTokens(Value x) { program_.final_tokens_ = x; }
  Program Take(Value logits);

 private:
  // A name with the weights and names below it. Checkpoints list a scope's own weights before those below.
  struct Scope {
    std::string name;
    Scope* parent = nullptr;
    std::vector<int> weights = {};
    std::vector<std::unique_ptr<Scope>> children = {};
    std::vector<std::string> draws_first = {};
    // All of it as it was added.
    struct Member {
      int weight = -1;  // place in the program's weights, or
      Scope* child = nullptr;
    };
    std::vector<Member> added = {};
  };
  class Leave {
   public:
    Leave(Builder& builder, Scope* outer) : builder_(builder), outer_(outer) {}
    ~Leave() { builder_.scope_ = outer_; }

   private:
    Builder& builder_;
    Scope* const outer_;
  };

  // Returns the scope to come back to.
  Scope* Open(const std::string& name);
  static std::string PathOf(const Scope& scope);
  std::string FullName(const std::string& name) const;
  // The name, with a number behind it where it is taken: for what nobody calls by name.
  std::string Free(const std::string& name) const;
  Value Add(const std::string& name, const Settings& settings, std::vector<Value> inputs, std::vector<int> weights,
            const Program::ValueInfo& result);
  Program::ValueInfo CellsOf(Value map) const;
  Program::ValueInfo Like(Value x, int64_t columns) const;
  Program::ValueInfo Like(Value x) const { return program_.info(x); }
  std::vector<int> LinearWeights(const std::string& name, int64_t inputs, int64_t outputs, bool bias);
  void ListWeights(const Scope& scope, std::vector<int>& order) const;
  void ListDrawings(const Scope& scope, std::vector<int>& order) const;
  void OrderWeights();

  Program program_;
  std::map<std::string, int> weight_of_;
  std::set<std::string> names_;  // of operators
  Scope root_;
  Scope* scope_ = &root_;
  Part part_ = Part::kInput;
  int site_ = 0;
  LinearInitial linear_initial_ = LinearInitial::kTruncatedNormal;
  int token_layers_ = 0, class_layers_ = 0, channel_layers_ = 0;
};

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_BUILDER_H_
