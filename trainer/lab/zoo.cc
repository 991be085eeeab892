// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/zoo.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

using v1::KvConfig;
using v1::SequenceConfig;

// Returns a config of the given sizes. `position_channels` is the paper's m, which differs between tasks.
SequenceConfig Sized(KvConfig::Attention attention, int width, int depth, int heads, int mlp_ratio, int max_length,
                     int position_channels) {
  SequenceConfig config;
  config.set_attention(attention);
  config.set_width(width);
  config.set_depth(depth);
  config.set_heads(heads);
  config.set_mlp_width(mlp_ratio * width);
  config.set_max_length(max_length);
  if (attention == KvConfig::KV_POS) config.set_position_channels(position_channels);
  return config;
}

void DropAt(std::initializer_list<SequenceConfig::Dropping> places, SequenceConfig& config) {
  for (const SequenceConfig::Dropping place : places) config.add_dropping(place);
}

// Returns the config for reverse, sort, swap, sub and copy of one-hot digits. All five tasks use the same model.
SequenceConfig Task(KvConfig::Attention attention, int width, int depth) {
  SequenceConfig config = Sized(attention, width, depth, /*heads=*/4, /*mlp_ratio=*/2, /*max_length=*/200, 10);
  config.mutable_features()->set_width(10);
  config.set_outputs(10);
  config.set_score_scale(KvConfig::HEAD_WIDTH);
  config.set_projection_bias(true);
  config.set_output_bias(true);
  config.set_norm(SequenceConfig::POST);
  config.set_positions(SequenceConfig::INTERLEAVED);
  config.set_head(SequenceConfig::HIDDEN);
  config.set_initial(SequenceConfig::XAVIER_ATTENTION);
  DropAt({SequenceConfig::HIDDEN_LAYER}, config);
  return config;
}

// Returns the config for finding, among ten images, the one image of another class. Inputs are ResNet-34's features,
// without positions. There is one logit per image.
SequenceConfig Anomaly(KvConfig::Attention attention, int width, int depth) {
  SequenceConfig config = Task(attention, width, depth);
  config.mutable_features()->set_width(512);
  config.set_outputs(1);
  config.set_positions(SequenceConfig::NONE);
  DropAt({SequenceConfig::INPUT}, config);
  return config;
}

// Returns the config for Tiny Shakespeare by characters. Every head has its own MapPosition weights (map_pos).
SequenceConfig Characters(KvConfig::Attention attention, int width, int depth, int heads = 4) {
  SequenceConfig config = Sized(attention, width, depth, heads, /*mlp_ratio=*/4, /*max_length=*/64, 20);
  config.mutable_tokens()->set_vocabulary(65);
  config.set_score_scale(KvConfig::FULL_WIDTH);
  config.set_map_pos_per_head(attention == KvConfig::KV_POS);
  config.set_output_bias(true);
  config.set_causal(true);
  config.set_norm(SequenceConfig::PRE);
  config.set_positions(SequenceConfig::LEARNED);
  config.set_head(SequenceConfig::LINEAR);
  config.set_initial(SequenceConfig::FAN_IN);
  DropAt({SequenceConfig::WEIGHTS}, config);
  return config;
}

// Returns the config for the numbers 1 to 9,999 in words.
SequenceConfig Numbers(KvConfig::Attention attention) {
  SequenceConfig config = Sized(attention, /*width=*/64, /*depth=*/4, /*heads=*/8, /*mlp_ratio=*/4,
                                /*max_length=*/257, 10);
  config.mutable_tokens()->set_vocabulary(30);
  config.mutable_tokens()->set_scaled(true);
  config.set_score_scale(KvConfig::HEAD_WIDTH);
  config.set_causal(true);
  config.set_norm(SequenceConfig::PRE_NORMALISED);
  config.set_positions(SequenceConfig::HALVES);
  config.set_head(SequenceConfig::TIED);
  config.set_initial(SequenceConfig::XAVIER_BLOCKS);
  DropAt({SequenceConfig::INPUT}, config);
  return config;
}

// Returns the config for Multi30k. The paper does not publish the vocabularies; 10,000 ids per language are assumed.
SequenceConfig Translation(KvConfig::Attention attention, int width, int depth) {
  SequenceConfig config = Sized(attention, width, depth, /*heads=*/4, /*mlp_ratio=*/4, /*max_length=*/300, 10);
  config.mutable_pair()->set_source_vocabulary(10'000);
  config.mutable_pair()->set_target_vocabulary(10'000);
  config.mutable_pair()->set_padding(1);
  config.set_score_scale(KvConfig::HEAD_WIDTH);
  config.set_projection_bias(true);
  config.set_output_bias(true);
  config.set_norm(SequenceConfig::PRE);
  config.set_positions(SequenceConfig::INTERLEAVED);
  config.set_head(SequenceConfig::LINEAR);
  config.set_initial(SequenceConfig::XAVIER);
  DropAt({SequenceConfig::INPUT, SequenceConfig::WEIGHTS, SequenceConfig::HIDDEN_LAYER}, config);
  return config;
}

constexpr std::string_view kTask = "KV transformer, synthetic tasks";
constexpr std::string_view kAnomaly = "KV transformer, set anomaly";
constexpr std::string_view kCharacters = "KV transformer, characters";
// The paper's models have 1 or 4 heads. With KV+Pos, the parameter count depends on the number of heads, so the models
// with 1 and with 4 heads have separate rows. Without KV+Pos, one row is enough.
constexpr std::string_view kCharactersFormula = "KV transformer, characters: 1 or 4 heads; its count by the formula";
constexpr std::string_view kNumbers = "KV transformer, numbers";
constexpr std::string_view kTranslation = "KV transformer, translation; vocabularies of 10,000 stand for Multi30k's";

constexpr auto kQkv = KvConfig::QKV, kKv = KvConfig::KV, kKvPos = KvConfig::KV_POS;

std::vector<SequenceRow> TaskRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"task-qkv-d32-l2", Task(kQkv, 32, 2), 18'890, kTask},
      {"task-kv-pos-d32-l2", Task(kKvPos, 32, 2), 16'800, kTask},
      {"task-kv-d32-l2", Task(kKv, 32, 2), 16'778, kTask},
      {"task-qkv-d32-l4", Task(kQkv, 32, 4), 35'978, kTask},
      {"task-kv-pos-d32-l4", Task(kKvPos, 32, 4), 31'798, kTask},
      {"task-kv-d32-l4", Task(kKv, 32, 4), 31'754, kTask},
      {"task-qkv-d64-l2", Task(kQkv, 64, 2), 72'586, kTask},
      {"task-kv-pos-d64-l2", Task(kKvPos, 64, 2), 64'288, kTask},
      {"task-kv-d64-l2", Task(kKv, 64, 2), 64'266, kTask},
      {"task-qkv-d64-l4", Task(kQkv, 64, 4), 139'530, kTask},
      {"task-kv-pos-d64-l4", Task(kKvPos, 64, 4), 122'934, kTask},
      {"task-kv-d64-l4", Task(kKv, 64, 4), 122'890, kTask},
      {"task-qkv-d256-l2", Task(kQkv, 256, 2), 1'125'898, kTask},
      {"task-kv-pos-d256-l2", Task(kKvPos, 256, 2), 994'336, kTask},
      {"task-kv-d256-l2", Task(kKv, 256, 2), 994'314, kTask},
      {"task-qkv-d256-l4", Task(kQkv, 256, 4), 2'180'106, kTask},
      {"task-kv-pos-d256-l4", Task(kKvPos, 256, 4), 1'916'982, kTask},
      {"task-kv-d256-l4", Task(kKv, 256, 4), 1'916'938, kTask},
      // clang-format on
  };
}

std::vector<SequenceRow> AnomalyRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"anomaly-qkv-d256-l2", Anomaly(kQkv, 256, 2), 1'252'097, kAnomaly},
      {"anomaly-kv-pos-d256-l2", Anomaly(kKvPos, 256, 2), 1'120'535, kAnomaly},
      {"anomaly-kv-d256-l2", Anomaly(kKv, 256, 2), 1'120'513, kAnomaly},
      {"anomaly-qkv-d256-l4", Anomaly(kQkv, 256, 4), 2'306'305, kAnomaly},
      {"anomaly-kv-pos-d256-l4", Anomaly(kKvPos, 256, 4), 2'043'181, kAnomaly},
      {"anomaly-kv-d256-l4", Anomaly(kKv, 256, 4), 2'043'137, kAnomaly},
      {"anomaly-qkv-d512-l2", Anomaly(kQkv, 512, 2), 4'732'417, kAnomaly},
      {"anomaly-kv-pos-d512-l2", Anomaly(kKvPos, 512, 2), 4'207'127, kAnomaly},
      {"anomaly-kv-d512-l2", Anomaly(kKv, 512, 2), 4'207'105, kAnomaly},
      {"anomaly-qkv-d512-l4", Anomaly(kQkv, 512, 4), 8'937'985, kAnomaly},
      {"anomaly-kv-pos-d512-l4", Anomaly(kKvPos, 512, 4), 7'887'405, kAnomaly},
      {"anomaly-kv-d512-l4", Anomaly(kKv, 512, 4), 7'887'361, kAnomaly},
      // clang-format on
  };
}

std::vector<SequenceRow> CharacterRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"characters-qkv-d64-l1", Characters(kQkv, 64, 1), 62'401, kCharactersFormula},
      {"characters-kv-pos-d64-l1", Characters(kKvPos, 64, 1), 58'389, kCharactersFormula},
      {"characters-kv-pos-d64-l1-h1", Characters(kKvPos, 64, 1, 1), 58'326, kCharactersFormula},
      {"characters-kv-d64-l1", Characters(kKv, 64, 1), 58'305, kCharactersFormula},
      {"characters-qkv-d64-l2", Characters(kQkv, 64, 2), 112'193, kCharactersFormula},
      {"characters-kv-pos-d64-l2", Characters(kKvPos, 64, 2), 104'169, kCharactersFormula},
      {"characters-kv-pos-d64-l2-h1", Characters(kKvPos, 64, 2, 1), 104'043, kCharactersFormula},
      {"characters-kv-d64-l2", Characters(kKv, 64, 2), 104'001, kCharactersFormula},
      {"characters-qkv-d64-l3", Characters(kQkv, 64, 3), 161'985, kCharactersFormula},
      {"characters-kv-pos-d64-l3", Characters(kKvPos, 64, 3), 149'949, kCharactersFormula},
      {"characters-kv-pos-d64-l3-h1", Characters(kKvPos, 64, 3, 1), 149'760, kCharactersFormula},
      {"characters-kv-d64-l3", Characters(kKv, 64, 3), 149'697, kCharactersFormula},
      {"characters-qkv-d64-l6", Characters(kQkv, 64, 6), 311'361, kCharactersFormula},
      {"characters-kv-pos-d64-l6", Characters(kKvPos, 64, 6), 287'289, kCharactersFormula},
      {"characters-kv-pos-d64-l6-h1", Characters(kKvPos, 64, 6, 1), 286'911, kCharactersFormula},
      {"characters-kv-d64-l6", Characters(kKv, 64, 6), 286'785, kCharactersFormula},
      {"characters-qkv-d192-l1", Characters(kQkv, 192, 1), 481'985, kCharactersFormula},
      {"characters-kv-pos-d192-l1", Characters(kKvPos, 192, 1), 445'205, kCharactersFormula},
      {"characters-kv-pos-d192-l1-h1", Characters(kKvPos, 192, 1, 1), 445'142, kCharactersFormula},
      {"characters-kv-d192-l1", Characters(kKv, 192, 1), 445'121, kCharactersFormula},
      {"characters-qkv-d192-l2", Characters(kQkv, 192, 2), 926'273, kCharactersFormula},
      {"characters-kv-pos-d192-l2", Characters(kKvPos, 192, 2), 852'713, kCharactersFormula},
      {"characters-kv-pos-d192-l2-h1", Characters(kKvPos, 192, 2, 1), 852'587, kCharactersFormula},
      {"characters-kv-d192-l2", Characters(kKv, 192, 2), 852'545, kCharactersFormula},
      {"characters-qkv-d192-l3", Characters(kQkv, 192, 3), 1'370'561, kCharactersFormula},
      {"characters-kv-pos-d192-l3", Characters(kKvPos, 192, 3), 1'260'221, kCharactersFormula},
      {"characters-kv-pos-d192-l3-h1", Characters(kKvPos, 192, 3, 1), 1'260'032, kCharactersFormula},
      {"characters-kv-d192-l3", Characters(kKv, 192, 3), 1'259'969, kCharactersFormula},
      {"characters-qkv-d192-l6", Characters(kQkv, 192, 6), 2'703'425, kCharacters},
      {"characters-kv-pos-d192-l6", Characters(kKvPos, 192, 6), 2'482'745, kCharacters},
      {"characters-kv-pos-d192-l6-h1", Characters(kKvPos, 192, 6, 1), 2'482'367, kCharactersFormula},
      {"characters-kv-d192-l6", Characters(kKv, 192, 6), 2'482'241, kCharacters},
      // clang-format on
  };
}

std::vector<SequenceRow> NumberRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"numbers-qkv-d64-l4", Numbers(kQkv), 200'990, kNumbers},
      {"numbers-kv-pos-d64-l4", Numbers(kKvPos), 184'650, kNumbers},
      {"numbers-kv-d64-l4", Numbers(kKv), 184'606, kNumbers},
      // clang-format on
  };
}

std::vector<SequenceRow> TranslationRows() {
  return {
      // clang-format off
      // name, config, parameters, source
      {"translation-qkv-d64-l1", Translation(kQkv, 64, 1), 2'046'992, kTranslation},
      {"translation-kv-pos-d64-l1", Translation(kKvPos, 64, 1), 2'038'694, kTranslation},
      {"translation-kv-d64-l1", Translation(kKv, 64, 1), 2'038'672, kTranslation},
      {"translation-qkv-d64-l2", Translation(kQkv, 64, 2), 2'163'728, kTranslation},
      {"translation-kv-pos-d64-l2", Translation(kKvPos, 64, 2), 2'147'132, kTranslation},
      {"translation-kv-d64-l2", Translation(kKv, 64, 2), 2'147'088, kTranslation},
      {"translation-qkv-d128-l1", Translation(kQkv, 128, 1), 4'313'360, kTranslation},
      {"translation-kv-pos-d128-l1", Translation(kKvPos, 128, 1), 4'280'358, kTranslation},
      {"translation-kv-d128-l1", Translation(kKv, 128, 1), 4'280'336, kTranslation},
      {"translation-qkv-d128-l2", Translation(kQkv, 128, 2), 4'776'208, kTranslation},
      {"translation-kv-pos-d128-l2", Translation(kKvPos, 128, 2), 4'710'204, kTranslation},
      {"translation-kv-d128-l2", Translation(kKv, 128, 2), 4'710'160, kTranslation},
      {"translation-qkv-d256-l1", Translation(kQkv, 256, 1), 9'534'224, kTranslation},
      {"translation-kv-pos-d256-l1", Translation(kKvPos, 256, 1), 9'402'662, kTranslation},
      {"translation-kv-d256-l1", Translation(kKv, 256, 1), 9'402'640, kTranslation},
      {"translation-qkv-d256-l2", Translation(kQkv, 256, 2), 11'377'424, kTranslation},
      {"translation-kv-pos-d256-l2", Translation(kKvPos, 256, 2), 11'114'300, kTranslation},
      {"translation-kv-d256-l2", Translation(kKv, 256, 2), 11'114'256, kTranslation},
      // clang-format on
  };
}

}  // namespace

std::span<const SequenceRow> SequenceZoo() {
  static const auto* const kZoo = new std::vector<SequenceRow>([] {
    std::vector<SequenceRow> rows;
    for (const auto task : {TaskRows, AnomalyRows, CharacterRows, NumberRows, TranslationRows}) {
      for (SequenceRow& row : task()) rows.push_back(std::move(row));
    }
    return rows;
  }());
  return *kZoo;
}

absl::StatusOr<SequenceRow> FindSequence(std::string_view name) {
  const std::string_view task = name.substr(0, name.find('-'));
  std::vector<std::string> names;
  for (const SequenceRow& row : SequenceZoo()) {
    if (row.name == name) return row;
    if (row.name.substr(0, row.name.find('-')) == task) names.emplace_back(row.name);
  }
  if (names.empty()) names = {"task-*", "anomaly-*", "characters-*", "numbers-*", "translation-*"};
  return absl::NotFoundError(
      absl::StrCat("no sequence model is named \"", std::string(name), "\"; there are ", absl::StrJoin(names, ", ")));
}

}  // namespace vitrine
