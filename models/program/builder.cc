// SPDX-License-Identifier: Apache-2.0
#include "models/program/builder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace vitrine::program {
namespace {

// Index, within a block, of the dropout site of the attention weights. The family's code numbers the other sites.
constexpr int kWeightsSite = 3;

// Aborts if `holds` is false. Only a bug in a model family's code can make it false; user input cannot.
void Require(bool holds, const std::string& name, const char* what) {
  if (holds) return;
  std::cerr << "program: " << name << ": " << what << std::endl;
  std::abort();
}

Initial Ones() {
  return {Initial::Kind::kConstant, 1};
}
Initial Zeros() {
  return {Initial::Kind::kConstant, 0};
}
// Returns PyTorch's default distribution of initial weights and biases.
Initial FanIn(int64_t inputs) {
  return {Initial::Kind::kUniform, 1 / std::sqrt(static_cast<double>(inputs))};
}

}  // namespace

Builder::Builder(int channels) {
  program_.values_.push_back({.kind = ValueKind::kMap, .columns = channels, .scale = 1});
}

// --- scopes and weights

int Builder::AddWeight(const std::string& name, std::vector<int64_t> shape, Initial initial, bool trained) {
  const auto [place, is_new] = weight_of_.emplace(FullName(name), static_cast<int>(program_.weights_.size()));
  if (!is_new) {
    Require(program_.weights_[static_cast<size_t>(place->second)].shape == shape, place->first, "has two shapes");
    return place->second;
  }
  const bool decays = trained && shape.size() >= 2;
  program_.weights_.push_back({place->first, std::move(shape), initial, trained, decays});
  scope_->weights.push_back(place->second);
  scope_->added.push_back({.weight = place->second});
  return place->second;
}

int Builder::NeverDecays(int weight) {
  program_.weights_[static_cast<size_t>(weight)].decays = false;
  return weight;
}

std::vector<int> Builder::LinearWeights(const std::string& name, int64_t inputs, int64_t outputs, bool bias) {
  return Within(name, [&] {
    const bool fan_in = linear_initial_ == LinearInitial::kFanIn;
    const Initial normal = {Initial::Kind::kTruncatedNormal, 0.02};
    std::vector<int> weights = {AddWeight("weight", {outputs, inputs}, fan_in ? FanIn(inputs) : normal)};
    if (bias) weights.push_back(AddWeight("bias", {outputs}, fan_in ? FanIn(inputs) : Zeros()));
    return weights;
  });
}

// --- operators

Value Builder::Add(const std::string& name, const Settings& settings, std::vector<Value> inputs,
                   std::vector<int> weights, const Program::ValueInfo& result) {
  Require(names_.insert(FullName(name)).second, FullName(name), "is the name of another operator");
  const Value output{program_.values()};
  program_.values_.push_back(result);
  program_.operators_.push_back({FullName(name), settings, std::move(inputs), output, std::move(weights), part_});
  return output;
}

Program::ValueInfo Builder::CellsOf(Value map) const {
  Program::ValueInfo cells = program_.info(map);
  cells.kind = ValueKind::kCells;
  return cells;
}

Program::ValueInfo Builder::Like(Value x, int64_t columns) const {
  Program::ValueInfo info = program_.info(x);
  info.columns = columns;
  return info;
}

Value Builder::Convolve(const std::string& name, Value x, int64_t outputs, const program::Convolve& settings,
                        bool bias) {
  const int64_t inputs = columns(x), k = settings.kernel;
  std::vector<int> weights;
  Within(name, [&] {
    weights.push_back(AddWeight("weight",
                                settings.channels_last ? std::vector<int64_t>{outputs, k, k, inputs}
                                                       : std::vector<int64_t>{outputs, inputs, k, k},
                                FanIn(k * k * inputs)));
    if (bias) weights.push_back(AddWeight("bias", {outputs}, FanIn(k * k * inputs)));
  });
  Program::ValueInfo info = Like(x, outputs);
  info.scale *= settings.stride * std::max(1, settings.pool);
  return Add(name, settings, {x}, std::move(weights), info);
}

Value Builder::Patchify(int patch) {
  const Program::ValueInfo cells = {
      .kind = ValueKind::kCells, .columns = columns(images()) * patch * patch, .scale = patch};
  return Add("patchify", program::Patchify{patch}, {images()}, {}, cells);
}

Value Builder::PositionTable(const std::string& name, Value x, const program::TablePosition& settings,
                             Initial initial) {
  program_.table_ = settings.grid;
  const int table = Within(name, [&] {
    return NeverDecays(AddWeight("table", {settings.prefix + settings.grid.cells(), columns(x)}, initial));
  });
  return Add(name, settings, {x}, {table}, Like(x));
}

Value Builder::FourierPosition(const std::string& name, Value x) {
  const LinearInitial before = std::exchange(linear_initial_, LinearInitial::kFanIn);
  std::vector<int> weights =
      Within(name, [&] { return LinearWeights("projection", kFourierFeatures, columns(x), /*bias=*/true); });
  linear_initial_ = before;
  return Add(name, program::FourierPosition(), {x}, std::move(weights), Like(x));
}

Value Builder::ClassToken(const std::string& name, int64_t columns, Initial initial) {
  const int row = NeverDecays(AddWeight(name, {1, columns}, initial));
  return Add(name, program::ClassToken(), {}, {row}, {.kind = ValueKind::kRows, .columns = columns});
}

std::vector<Value> Builder::LearnedRows(const std::string& name, int count, int64_t columns, Initial initial) {
  std::vector<Value> rows;
  if (count == 0) return rows;
  const int weight = NeverDecays(AddWeight(name, {count, columns}, initial));
  for (int i = 0; i < count; ++i) {
    rows.push_back(
        Add(Free(name), program::ClassToken{i}, {}, {weight}, {.kind = ValueKind::kRows, .columns = columns}));
  }
  return rows;
}

Value Builder::JoinPrefix(const std::string& name, std::vector<Value> rows, std::vector<PrefixToken> prefix,
                          Value cells) {
  Require(rows.size() == prefix.size() && !rows.empty(), name, "has no row for a prefix token");
  Require(program_.prefix_.empty() || program_.prefix_ == prefix, name, "joins another prefix");
  for (const Value row : rows) Require(columns(row) == columns(cells), name, "joins different widths");
  program_.prefix_ = std::move(prefix);
  Program::ValueInfo tokens = Like(cells);
  tokens.kind = ValueKind::kTokens;
  rows.push_back(cells);
  return Add(name, program::JoinClass(), std::move(rows), {}, tokens);
}

Value Builder::TakeClass(Value tokens, int token) {
  return Add(Free("take_class"), program::TakeClass{token}, {tokens}, {},
             {.kind = ValueKind::kRows, .columns = columns(tokens)});
}

Value Builder::TakeCells(Value tokens) {
  return Add(Free("take_cells"), program::TakeCells(), {tokens}, {}, CellsOf(tokens));
}

Value Builder::MeanTokens(Value cells) {
  Require(program_.info(cells).kind == ValueKind::kCells, FullName("mean_tokens"), "needs cells");
  return Add(Free("mean_tokens"), program::MeanTokens(), {cells}, {},
             {.kind = ValueKind::kRows, .columns = columns(cells)});
}

Value Builder::LayerNorm(const std::string& name, Value x, double epsilon) {
  std::vector<int> weights = Within(name, [&] {
    return std::vector<int>{AddWeight("weight", {columns(x)}, Ones()), AddWeight("bias", {columns(x)}, Zeros())};
  });
  return Add(name, program::LayerNorm{epsilon}, {x}, std::move(weights), Like(x));
}

Value Builder::BatchNorm(const std::string& name, Value x) {
  std::vector<int> weights = Within(name, [&] {
    return std::vector<int>{AddWeight("weight", {columns(x)}, Ones()), AddWeight("bias", {columns(x)}, Zeros()),
                            AddWeight("running_mean", {columns(x)}, Zeros(), /*trained=*/false),
                            AddWeight("running_var", {columns(x)}, Ones(), /*trained=*/false)};
  });
  return Add(name, program::BatchNorm(), {x}, std::move(weights), Like(x));
}

Value Builder::Affine(const std::string& name, Value x, double initial_scale) {
  std::vector<int> weights = Within(name, [&] {
    return std::vector<int>{AddWeight("weight", {columns(x)}, {Initial::Kind::kConstant, initial_scale}),
                            AddWeight("bias", {columns(x)}, Zeros())};
  });
  return Add(name, program::Affine(), {x}, std::move(weights), Like(x));
}

Value Builder::Linear(const std::string& name, const std::vector<Value>& x, int64_t outputs, bool bias) {
  int64_t inputs = 0;
  for (const Value each : x) inputs += columns(each);
  return Add(name, program::Linear{.inputs = inputs, .outputs = outputs, .bias = bias}, x,
             LinearWeights(name, inputs, outputs, bias), Like(x.front(), outputs));
}

Value Builder::SharedLinear(const std::string& name, const std::string& use, Value x, int64_t outputs) {
  return Add(absl::StrCat(name, ".", use), program::Linear{.inputs = columns(x), .outputs = outputs}, {x},
             LinearWeights(name, columns(x), outputs, /*bias=*/true), Like(x, outputs));
}

std::vector<Value> Builder::LinearsTogether(const std::vector<std::string>& names, Value x, int64_t outputs) {
  std::vector<Value> results;
  int together = static_cast<int>(names.size());
  for (const std::string& name : names) {
    results.push_back(Add(name, program::Linear{.inputs = columns(x), .outputs = outputs, .together = together}, {x},
                          LinearWeights(name, columns(x), outputs, /*bias=*/true), Like(x, outputs)));
    together = 0;
  }
  return results;
}

Value Builder::LinearPart(const std::string& name, Value x, int64_t first_row, int64_t outputs, int64_t rows) {
  return Add(absl::StrCat(name, ".", first_row),
             program::Linear{.inputs = columns(x), .outputs = outputs, .first_row = first_row}, {x},
             LinearWeights(name, columns(x), rows, /*bias=*/true), Like(x, outputs));
}

Value Builder::CodedLinear(const std::string& name, Value x, int64_t outputs, int codes, int code) {
  const int64_t inputs = columns(x) + program_.weights_[static_cast<size_t>(codes)].shape[1];
  std::vector<int> weights = LinearWeights(name, inputs, outputs, /*bias=*/true);
  weights.push_back(codes);
  return Add(absl::StrCat(name, ".", code), program::Linear{.inputs = inputs, .outputs = outputs, .code = code}, {x},
             std::move(weights), Like(x, outputs));
}

Value Builder::Gelu(const std::string& name, Value x) {
  return Add(name, Activate{Activate::Function::kGelu}, {x}, {}, Like(x));
}

Value Builder::QuickGelu(const std::string& name, Value x) {
  return Add(name, Activate{Activate::Function::kQuickGelu}, {x}, {}, Like(x));
}

Value Builder::UnitLength(const std::string& name, Value x) {
  return Add(name, program::UnitLength(), {x}, {}, Like(x));
}

Value Builder::Relu(const std::string& name, Value x) {
  return Add(name, Activate{Activate::Function::kRelu}, {x}, {}, Like(x));
}

Value Builder::Residual(const std::string& name, Value x, Value branch, int path) {
  Require(program_.info(x).kind == program_.info(branch).kind, name, "adds values of different kinds");
  return Add(name, program::Residual{path}, {x, branch}, {}, Like(x));
}

Value Builder::ScaledResidual(const std::string& name, Value x, Value branch, int path, const std::string& scale,
                              double initial_scale) {
  Require(program_.info(x).kind == program_.info(branch).kind, name, "adds values of different kinds");
  const int weight = AddWeight(scale, {columns(x)}, {Initial::Kind::kConstant, initial_scale});
  return Add(name, program::Residual{path}, {x, branch}, {weight}, Like(x));
}

Value Builder::Attend(const std::string& name, const std::vector<Value>& qkv, program::Attend settings,
                      const std::vector<int>& weights) {
  settings.layer = settings.class_query ? class_layers_++ : token_layers_++;
  settings.site = site_ + kWeightsSite;
  const int64_t parts = settings.shared_key ? 2 : 3;
  Program::ValueInfo result = Like(qkv.front(), qkv.size() == 1 ? columns(qkv.front()) / parts : columns(qkv.back()));
  if (settings.class_query) result.kind = ValueKind::kRows;
  return Add(name, settings, qkv, weights, result);
}

Value Builder::AttendChannels(const std::string& name, const std::vector<Value>& qkv,
                              program::AttendChannels settings) {
  settings.layer = channel_layers_++;
  settings.site = site_ + kWeightsSite;
  const int temperature = AddWeight("temperature", {settings.heads, 1, 1}, Ones());
  const int64_t outputs = qkv.size() == 1 ? columns(qkv.front()) / 3 : columns(qkv.front());
  return Add(name, settings, qkv, {temperature}, Like(qkv.front(), outputs));
}

Value Builder::AttendLinearly(const std::string& name, const std::vector<Value>& qkv,
                              program::AttendLinearly settings) {
  Require(qkv.size() == (settings.class_query ? 2 : 1), FullName(name), "needs q, k and v in other values");
  settings.layer = settings.class_query ? class_layers_++ : token_layers_++;
  settings.site = site_ + kWeightsSite;
  std::vector<int> weights = {AddWeight("query_scale", {settings.heads}, Ones()),
                              AddWeight("context_scale", {settings.heads}, Ones())};
  const int64_t outputs = settings.class_query ? columns(qkv.front()) : columns(qkv.front()) / 3;
  return Add(name, settings, qkv, std::move(weights), Like(qkv.front(), outputs));
}

Value Builder::ConvolveGrid(const std::string& name, Value x, bool depthwise) {
  const int64_t channels = columns(x);
  const auto add_weights = [&] {
    std::vector<int> weights = {AddWeight(
        "weight", depthwise ? std::vector<int64_t>{channels, 1, 3, 3} : std::vector<int64_t>{channels, 3, 3, channels},
        FanIn(depthwise ? 9 : 9 * channels))};
    if (depthwise) weights.push_back(AddWeight("bias", {channels}, FanIn(9)));
    return weights;
  };
  std::vector<int> weights = name.empty() ? add_weights() : Within(name, add_weights);
  return Add(name.empty() ? "convolution" : name, program::ConvolveGrid{depthwise}, {x}, std::move(weights), Like(x));
}

Value Builder::Columns(Value x, int64_t first, int64_t count) {
  Require(first >= 0 && count > 0 && first + count <= columns(x), FullName("columns"), "reads missing columns");
  return Add(Free("columns"), program::Columns{first, count}, {x}, {}, Like(x, count));
}

Value Builder::Concatenate(const std::string& name, const std::vector<Value>& x) {
  int64_t all = 0;
  for (const Value each : x) all += columns(each);
  return Add(name, program::Concatenate(), x, {}, Like(x.front(), all));
}

Value Builder::Add(const std::string& name, Value x, Value y) {
  Require(program_.info(x).kind == program_.info(y).kind, name, "adds values of different kinds");
  return Add(name, program::Add(), {x, y}, {}, Like(x));
}

Value Builder::Mean(const std::string& name, Value x, Value y) {
  Require(program_.info(x).kind == program_.info(y).kind, name, "adds values of different kinds");
  return Add(name, program::Add{0.5}, {x, y}, {}, Like(x));
}

Value Builder::Drop(Value x, program::Drop::Place place, int site) {
  return Add(Free("drop"), program::Drop{place, site}, {x}, {}, Like(x));
}

Value Builder::Constant(int64_t columns) {
  return Add("constant", program::Constant(), {images()}, {}, {.kind = ValueKind::kRows, .columns = columns});
}

Value Builder::Custom(const std::string& name, Value cells, program::Custom settings) {
  Require(program_.info(cells).kind == ValueKind::kCells, name, "needs cells");
  Require(settings.forward != nullptr && settings.gradient != nullptr, name, "has no function");
  return Add(name, settings, {cells}, {}, Like(cells));
}

Program Builder::Take(Value logits) {
  Require(program_.info(logits).kind == ValueKind::kRows, "logits", "are not one row per image");
  program_.logits_ = logits;
  for (const Program::ValueInfo& value : program_.values_) {
    if (value.kind == ValueKind::kCells || value.kind == ValueKind::kTokens) program_.cell_ = value.scale;
  }
  ListDrawings(root_, program_.drawing_order_);
  OrderWeights();
  return std::move(program_);
}

}  // namespace vitrine::program
