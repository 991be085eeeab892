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

// Builds a program, operator by operator. The methods under "operators" append operators with unique names and return
// their results. Most weights of an operator are named name.weight, name.bias, ... in the scope that Within opened. If
// a weight name is used twice, both uses refer to the same weight. The config must have been validated: an inconsistent
// call is a bug in the family's code and aborts.
class Builder {
 public:
  // Number of dropout sites (places where values are dropped) per block. The dropout after the position encodings has
  // its own site, whose number follows those of the last block.
  static constexpr int kSitesPerBlock = 4;

  explicit Builder(int channels);  // `channels` is the number of channels of the images

  Value images() const { return {0}; }
  int64_t columns(Value x) const { return program_.info(x).columns; }

  // --- scopes

  // Calls `body` inside the scope `name`: names that it adds get the prefix `name.`. Returns the result of `body`.
  template <class Body>
  auto Within(const std::string& name, const Body& body) {
    const Leave leave(*this, Open(name));
    return body();
  }
  // Adds a block: a scope `name` with its own dropout sites. The result of `body` becomes a stage (Program::stages).
  template <class Body>
  Value Block(const std::string& name, const Body& body) {
    const Value x = Within(name, body);
    program_.stages_.push_back(x);
    site_ += kSitesPerBlock;
    return x;
  }
  // Assigns the operators added from now on to the section `part` of the model.
  void Enter(Part part) { part_ = part; }
  // Sets the order in which initial values are drawn in the current scope. `names` come first, in this order. The other
  // names follow, in the order in which they were added. "blocks" also stands for blocks.0, blocks.1, ...
  void DrawsFirst(std::vector<std::string> names);
  // Puts these scopes before scopes that are added later, both in checkpoints and in the order in which initial values
  // are drawn. DrawsFirst can change the order of drawing.
  void ListsFirst(const std::vector<std::string>& names);
  // Returns the current block's first dropout site.
  int site() const { return site_; }

  // --- weights

  // Initialization of the Linear weights added later. kTruncatedNormal, as in timm: a normal distribution with mean 0
  // and standard deviation 0.02 (Initial::Kind::kTruncatedNormal), and zero biases. kFanIn, as in PyTorch: a uniform
  // distribution from -1 / sqrt(inputs) to 1 / sqrt(inputs), also for biases.
  enum class LinearInitial { kTruncatedNormal, kFanIn };
  void StartLinears(LinearInitial initial) { linear_initial_ = initial; }
  // Adds a weight and returns its index. Weight decay applies to weights of two or more dimensions, as in timm, except
  // weights passed to NeverDecays.
  int AddWeight(const std::string& name, std::vector<int64_t> shape, Initial initial, bool trained = true);
  int NeverDecays(int weight);

  // --- operators

  Value Convolve(const std::string& name, Value x, int64_t outputs, const program::Convolve& settings, bool bias);
  Value ToTokens(Value map) { return Add(Free("to_tokens"), program::ToTokens(), {map}, {}, CellsOf(map)); }
  Value Patchify(int patch);
  // Adds a position table in which every prefix token of x has a row.
  Value TablePosition(const std::string& name, Value x, Grid grid, Initial initial) {
    return PositionTable(name, x, {.grid = grid, .prefix = program_.PrefixOf(x)}, initial);
  }
  Value PositionTable(const std::string& name, Value x, const program::TablePosition& settings, Initial initial);
  Value FourierPosition(const std::string& name, Value x);
  Value ClassToken(const std::string& name, int64_t columns, Initial initial);
  // Returns `count` learned rows of one weight [count, columns], as values with the names name, name.2, ...
  std::vector<Value> LearnedRows(const std::string& name, int count, int64_t columns, Initial initial);
  // Puts prefix tokens, one value each, before the cells. All joins of a program must have the same prefix.
  Value JoinPrefix(const std::string& name, std::vector<Value> rows, std::vector<PrefixToken> prefix, Value cells);
  Value JoinClass(const std::string& name, Value rows, Value cells) {
    return JoinPrefix(name, {rows}, {PrefixToken::kClass}, cells);
  }
  Value TakeClass(Value tokens, int token = 0);
  Value TakeCells(Value tokens);
  Value MeanTokens(Value cells);

  Value LayerNorm(const std::string& name, Value x, double epsilon);
  Value BatchNorm(const std::string& name, Value x);
  Value Affine(const std::string& name, Value x, double initial_scale);
  Value Linear(const std::string& name, const std::vector<Value>& x, int64_t outputs, bool bias = true);
  Value Linear(const std::string& name, Value x, int64_t outputs, bool bias = true) {
    return Linear(name, std::vector<Value>{x}, outputs, bias);
  }
  // Adds a linear layer with the shared weights `name`; the operator is named name.use.
  Value SharedLinear(const std::string& name, const std::string& use, Value x, int64_t outputs);
  // Adds linear layers with the same input x, and marks them (Linear::together) as layers that the papers' code
  // computes as one product.
  std::vector<Value> LinearsTogether(const std::vector<std::string>& names, Value x, int64_t outputs);
  // Adds a linear layer that uses `outputs` rows, starting at row `first_row`, of a weight with `rows` rows.
  Value LinearPart(const std::string& name, Value x, int64_t first_row, int64_t outputs, int64_t rows);
  // Appends row `code` of the weight `codes` [3, length] to each token of x, and applies a linear layer to the result.
  Value CodedLinear(const std::string& name, Value x, int64_t outputs, int codes, int code);
  Value Gelu(const std::string& name, Value x);
  Value QuickGelu(const std::string& name, Value x);
  Value Relu(const std::string& name, Value x);
  Value UnitLength(const std::string& name, Value x);
  // Returns x + branch. ScaledResidual first multiplies the branch by the weight `scale` [columns]. `path` is the site
  // of the branch's stochastic depth, or -1 for no stochastic depth.
  Value Residual(const std::string& name, Value x, Value branch, int path);
  Value ScaledResidual(const std::string& name, Value x, Value branch, int path, const std::string& scale,
                       double initial_scale);

  // Adds attention. Ignores settings.layer and settings.site. `weights` are listed at program::Attend.
  Value Attend(const std::string& name, const std::vector<Value>& qkv, program::Attend settings,
               const std::vector<int>& weights = {});
  Value AttendChannels(const std::string& name, const std::vector<Value>& qkv, program::AttendChannels settings);
  Value AttendLinearly(const std::string& name, const std::vector<Value>& qkv, program::AttendLinearly settings);
  Value ConvolveGrid(const std::string& name, Value x, bool depthwise);

  Value Columns(Value x, int64_t first, int64_t count);
  Value Concatenate(const std::string& name, const std::vector<Value>& x);
  Value Add(const std::string& name, Value x, Value y);
  Value Mean(const std::string& name, Value x, Value y);  // (x + y) / 2
  Value Drop(Value x, program::Drop::Place place, int site);
  Value Constant(int64_t columns);
  Value Custom(const std::string& name, Value cells, program::Custom settings);

  // --- results

  void FinalTokens(Value x) { program_.final_tokens_ = x; }
  void Projection(Value x) { program_.projection_ = x; }
  Program Take(Value logits);

 private:
  // A prefix of names, with its weights and its nested scopes. Checkpoints list a scope's own weights before the
  // weights of nested scopes.
  struct Scope {
    std::string name;
    Scope* parent = nullptr;
    std::vector<int> weights = {};
    std::vector<std::unique_ptr<Scope>> children = {};
    std::vector<std::string> draws_first = {};
    // Weights and nested scopes, in the order in which they were added.
    struct Member {
      int weight = -1;  // index in the program's weights, or -1
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

  // Opens a scope. Returns the previous scope, to be restored later.
  Scope* Open(const std::string& name);
  static std::string PathOf(const Scope& scope);
  std::string FullName(const std::string& name) const;
  // Returns `name`, with a number appended if another operator has this name. Used for operators that no caller refers
  // to by name.
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
  std::set<std::string> names_;  // operator names
  Scope root_;
  Scope* scope_ = &root_;
  Part part_ = Part::kInput;
  int site_ = 0;
  LinearInitial linear_initial_ = LinearInitial::kTruncatedNormal;
  int token_layers_ = 0, class_layers_ = 0, channel_layers_ = 0;
};

}  // namespace vitrine::program

#endif  // VITRINE_MODELS_PROGRAM_BUILDER_H_
