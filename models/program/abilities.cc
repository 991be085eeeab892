// SPDX-License-Identifier: Apache-2.0
#include "models/program/abilities.h"

#include <algorithm>
#include <vector>

namespace vitrine::program {
namespace {

struct Layers {
  int count = 0;
  int heads = 0;

  void Add(int more_heads) {
    ++count;
    heads = more_heads;
  }
};

bool MovesTokensElsewhere(const Program& program) {
  return std::any_of(program.operators().begin(), program.operators().end(),
                     [](const Operator& op) { return op.As<ConvolveGrid>() != nullptr || op.As<Custom>() != nullptr; });
}

}  // namespace

AttentionAbility AttentionOf(const Program& program) {
  AttentionAbility ability{.offers = {}, .cell = program.cell()};
  Layers tokens, linear, from_class, channels;
  bool scores = false;
  for (const Operator& op : program.operators()) {
    if (const Attend* attend = op.As<Attend>()) {
      (attend->class_query ? from_class : tokens).Add(attend->heads);
      if (!attend->class_query) {
        ability.prefix_tokens = program.PrefixOf(op.inputs.back());
        ability.registers = ability.prefix_tokens > 0 ? program.Count(PrefixToken::kRegister) : 0;
      }
      scores = scores || attend->offers_scores;
    } else if (const AttendLinearly* attend_linearly = op.As<AttendLinearly>()) {
      (attend_linearly->class_query ? from_class : linear).Add(attend_linearly->heads);
      ability.diverging = true;
    } else if (const AttendChannels* attend_channels = op.As<AttendChannels>()) {
      channels.Add(attend_channels->heads);
      ability.channels = static_cast<int>(program.info(op.output).columns / attend_channels->heads);
    }
  }
  const auto offer = [&](const std::vector<v1::AttentionKind>& kinds, AttentionSource source, const Layers& layers) {
    for (const v1::AttentionKind kind : kinds) ability.offers.push_back({kind, source, layers.count, layers.heads});
  };
  if (tokens.count > 0) {
    if (ability.prefix_tokens > 0) offer({v1::CLASS_TOKEN_ROW}, AttentionSource::kTokens, tokens);
    offer({v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE}, AttentionSource::kTokens, tokens);
    if (scores) {
      offer({v1::SCORES}, AttentionSource::kTokens, tokens);
    } else if (!MovesTokensElsewhere(program)) {
      offer({v1::ROLLOUT}, AttentionSource::kTokens, tokens);
    }
  }
  if (linear.count > 0) {
    offer({v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE}, AttentionSource::kTokens, linear);
  }
  if (from_class.count > 0) offer({v1::CLASS_ATTENTION}, AttentionSource::kClassQuery, from_class);
  if (channels.count > 0) offer({v1::CROSS_COVARIANCE}, AttentionSource::kChannels, channels);
  return ability;
}

FeatureAbility FeaturesOf(const Program& program) {
  if (program.final_tokens().id < 0) return {};
  FeatureAbility ability{.kinds = {v1::MEAN_TOKEN, v1::PATCH_TOKENS},
                         .width = static_cast<int>(program.info(program.final_tokens()).columns)};
  if (program.Count(PrefixToken::kClass) > 0) ability.kinds.insert(ability.kinds.begin(), v1::CLASS_TOKEN);
  ability.registers = program.Count(PrefixToken::kRegister);
  if (ability.registers > 0) ability.kinds.push_back(v1::REGISTER_TOKENS);
  if (program.projection().id >= 0) {
    ability.kinds.insert(ability.kinds.begin(), v1::PROJECTION);  // the first kind is the default of clients
    ability.projection = static_cast<int>(program.info(program.projection()).columns);
  }
  return ability;
}

}  // namespace vitrine::program
