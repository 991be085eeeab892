// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/graph/program_json.h"

#include <variant>

namespace vitrine {
namespace {

namespace ir = program;
using Json = nlohmann::ordered_json;

Json GridJson(Grid grid) {
  return {{"rows", grid.rows}, {"columns", grid.columns}};
}

struct SettingsOf {
  Json operator()(const ir::Convolve& convolve) const {
    return {{"kernel", convolve.kernel}, {"stride", convolve.stride}, {"padding", convolve.padding},
            {"pool", convolve.pool},     {"cut", convolve.cut},       {"channels_last", convolve.channels_last}};
  }
  Json operator()(const ir::Patchify& patchify) const { return {{"patch", patchify.patch}}; }
  Json operator()(const ir::TablePosition& position) const { return {{"grid", GridJson(position.grid)}}; }
  Json operator()(const ir::LayerNorm& norm) const { return {{"epsilon", norm.epsilon}}; }
  Json operator()(const ir::BatchNorm& norm) const { return {{"epsilon", norm.epsilon}, {"momentum", norm.momentum}}; }
  Json operator()(const ir::Linear& linear) const {
    return {{"inputs", linear.inputs}, {"outputs", linear.outputs}, {"first_row", linear.first_row},
            {"bias", linear.bias},     {"code", linear.code},       {"together", linear.together}};
  }
  Json operator()(const ir::Residual& residual) const { return {{"path", residual.path}}; }
  Json operator()(const ir::Attend& attend) const {
    return {{"heads", attend.heads},
            {"scale", attend.scale},
            {"class_query", attend.class_query},
            {"shared_key", attend.shared_key},
            {"offers_scores", attend.offers_scores},
            {"layer", attend.layer},
            {"site", attend.site}};
  }
  Json operator()(const ir::AttendChannels& attend) const {
    return {{"heads", attend.heads}, {"layer", attend.layer}, {"site", attend.site}};
  }
  Json operator()(const ir::AttendLinearly& attend) const {
    return {{"heads", attend.heads},
            {"over_values", attend.norm == ir::AttendLinearly::Norm::kValues},
            {"normalizes", attend.norm != ir::AttendLinearly::Norm::kNone},
            {"class_query", attend.class_query},
            {"layer", attend.layer},
            {"site", attend.site}};
  }
  Json operator()(const ir::ConvolveGrid& convolve) const { return {{"depthwise", convolve.depthwise}}; }
  Json operator()(const ir::Columns& columns) const { return {{"first", columns.first}, {"count", columns.count}}; }
  Json operator()(const ir::Drop& drop) const { return {{"place", PlaceName(drop.place)}, {"site", drop.site}}; }

  Json operator()(const ir::Custom& custom) const { return {{"function", custom.function}}; }

  // Returns an empty object for kinds without settings.
  template <class Other>
  Json operator()(const Other&) const {
    return Json::object();
  }

  static const char* PlaceName(ir::Drop::Place place) {
    switch (place) {
      case ir::Drop::Place::kPositions:
        return "positions";
      case ir::Drop::Place::kProjection:
        return "projection";
      case ir::Drop::Place::kMlp:
        break;
    }
    return "mlp";
  }
};

const char* KindName(ir::ValueKind kind) {
  switch (kind) {
    case ir::ValueKind::kMap:
      return "map";
    case ir::ValueKind::kCells:
      return "cells";
    case ir::ValueKind::kTokens:
      return "tokens";
    case ir::ValueKind::kRows:
      break;
  }
  return "rows";
}

Json OperatorJson(const ir::Program& program, const ir::Operator& op) {
  Json inputs = Json::array(), weights = Json::array();
  for (const ir::Value input : op.inputs) inputs.push_back(input.id);
  for (const int weight : op.weights) weights.push_back(program.weights()[static_cast<size_t>(weight)].name);
  return {{"name", op.name},  {"kind", ir::KindName(op)}, {"part", PartName(op.part)}, {"settings", SettingsJson(op)},
          {"inputs", inputs}, {"output", op.output.id},   {"weights", weights}};
}

}  // namespace

const char* PartName(ir::Part part) {
  return part == ir::Part::kInput ? "input" : part == ir::Part::kBlock ? "block" : "head";
}

Json SettingsJson(const ir::Operator& op) {
  return std::visit(SettingsOf(), op.settings);
}

Json ProgramJson(const ir::Program& program) {
  Json operators = Json::array(), values = Json::array(), weights = Json::array(), stages = Json::array();
  for (const ir::Operator& op : program.operators()) operators.push_back(OperatorJson(program, op));
  for (int id = 0; id < program.values(); ++id) {
    const ir::Program::ValueInfo& info = program.info({id});
    values.push_back({{"kind", KindName(info.kind)}, {"columns", info.columns}});
  }
  for (const ir::Weight& weight : program.weights()) {
    weights.push_back(
        {{"name", weight.name}, {"shape", weight.shape}, {"trained", weight.trained}, {"decays", weight.decays}});
  }
  for (const ir::Value stage : program.stages()) stages.push_back(stage.id);
  return {{"operators", operators},
          {"values", values},
          {"weights", weights},
          {"stages", stages},
          {"logits", program.logits().id}};
}

}  // namespace vitrine
