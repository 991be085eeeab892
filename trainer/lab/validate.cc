// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/input.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine {
namespace {

using v1::SequenceConfig;

constexpr int kMaxWidth = 16384;
constexpr int kMaxLength = 16384;
constexpr int kMaxVocabulary = 1'000'000;

absl::Status Contradiction(absl::string_view sentence) {
  return absl::InvalidArgumentError(absl::StrCat("config.", sentence));
}

// Checks an enum whose zero is invalid.
absl::Status CheckChosen(absl::string_view field, int value, bool known, absl::string_view choices) {
  if (value != 0 && known) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("config.", field, value == 0 ? " is missing" : " is unknown", "; it must be ", choices));
}

absl::Status ValidateInput(const SequenceConfig& config) {
  switch (config.input_case()) {
    case SequenceConfig::kFeatures:
      RETURN_IF_ERROR(CheckRange("features.width", config.features().width(), 1, kMaxWidth));
      return CheckRange("outputs", config.outputs(), 1, kMaxVocabulary);
    case SequenceConfig::kTokens:
      RETURN_IF_ERROR(CheckRange("tokens.vocabulary", config.tokens().vocabulary(), 1, kMaxVocabulary));
      return CheckRange("outputs", config.outputs(), 0, kMaxVocabulary);
    case SequenceConfig::kPair: {
      const v1::TokenPair& pair = config.pair();
      RETURN_IF_ERROR(CheckRange("pair.source_vocabulary", pair.source_vocabulary(), 1, kMaxVocabulary));
      RETURN_IF_ERROR(CheckRange("pair.target_vocabulary", pair.target_vocabulary(), 1, kMaxVocabulary));
      if (pair.has_padding()) {
        RETURN_IF_ERROR(CheckRange("pair.padding", pair.padding(), 0,
                                   std::min(pair.source_vocabulary(), pair.target_vocabulary()) - 1));
      }
      if (config.causal()) {
        return Contradiction("causal is set with config.pair; a decoder is always causal, an encoder never");
      }
      if (config.outputs() == 0 || config.outputs() == pair.target_vocabulary()) return absl::OkStatus();
      return Contradiction(absl::StrCat("outputs is ", config.outputs(), "; with config.pair it must be 0 or ",
                                        "config.pair.target_vocabulary, which is ", pair.target_vocabulary()));
    }
    case SequenceConfig::INPUT_NOT_SET:
      break;
  }
  return Contradiction("input is missing; it must have one of: features, tokens, pair");
}

absl::Status ValidateAttention(const SequenceConfig& config) {
  RETURN_IF_ERROR(CheckChosen("attention", config.attention(), v1::KvConfig::Attention_IsValid(config.attention()),
                              "QKV, KV or KV_POS"));
  RETURN_IF_ERROR(CheckChosen("score_scale", config.score_scale(),
                              v1::KvConfig::ScoreScale_IsValid(config.score_scale()), "FULL_WIDTH or HEAD_WIDTH"));
  if (config.attention() == v1::KvConfig::KV_POS) {
    return CheckRange("position_channels", config.position_channels(), 3, 1024);
  }
  if (config.position_channels() != 0) {
    return Contradiction("position_channels is set; only attention KV_POS has them");
  }
  if (config.map_pos_per_head()) return Contradiction("map_pos_per_head is set; only attention KV_POS has a map_pos");
  return absl::OkStatus();
}

absl::Status ValidatePlaces(const SequenceConfig& config) {
  RETURN_IF_ERROR(
      CheckChosen("norm", config.norm(), SequenceConfig::Norm_IsValid(config.norm()), "POST, PRE or PRE_NORMALISED"));
  RETURN_IF_ERROR(CheckChosen("positions", config.positions(), SequenceConfig::Positions_IsValid(config.positions()),
                              "NONE, INTERLEAVED, HALVES or LEARNED"));
  RETURN_IF_ERROR(
      CheckChosen("head", config.head(), SequenceConfig::Head_IsValid(config.head()), "LINEAR, HIDDEN or TIED"));
  RETURN_IF_ERROR(CheckChosen("initial", config.initial(), SequenceConfig::Initial_IsValid(config.initial()),
                              "FAN_IN, XAVIER_ATTENTION, XAVIER_BLOCKS or XAVIER"));
  std::set<int> places;
  for (const int place : config.dropping()) {
    RETURN_IF_ERROR(
        CheckChosen("dropping", place, SequenceConfig::Dropping_IsValid(place), "INPUT, WEIGHTS or HIDDEN_LAYER"));
    if (!places.insert(place).second) {
      return Contradiction(absl::StrCat(
          "dropping names ", SequenceConfig::Dropping_Name(static_cast<SequenceConfig::Dropping>(place)), " twice"));
    }
  }
  if (config.positions() == SequenceConfig::INTERLEAVED || config.positions() == SequenceConfig::HALVES) {
    if (config.width() % 2 != 0) {
      return Contradiction(absl::StrCat("width is ", config.width(), "; it must be even for sinusoidal positions"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateSequence(const v1::SequenceConfig& config) {
  RETURN_IF_ERROR(ValidateInput(config));
  RETURN_IF_ERROR(CheckRange("width", config.width(), 1, kMaxWidth));
  RETURN_IF_ERROR(CheckRange("depth", config.depth(), 1, 256));
  RETURN_IF_ERROR(CheckRange("heads", config.heads(), 1, config.width()));
  RETURN_IF_ERROR(CheckMultiple("width", config.width(), "heads", config.heads()));
  RETURN_IF_ERROR(CheckRange("mlp_width", config.mlp_width(), 1, 65536));
  RETURN_IF_ERROR(CheckRange("max_length", config.max_length(), 1, kMaxLength));
  RETURN_IF_ERROR(ValidateAttention(config));
  RETURN_IF_ERROR(ValidatePlaces(config));
  if (config.head() != SequenceConfig::TIED) return absl::OkStatus();
  if (!config.has_tokens()) return Contradiction("head is TIED; this needs config.tokens, which has an embedding");
  if (config.outputs() == 0 || config.outputs() == config.tokens().vocabulary()) return absl::OkStatus();
  return Contradiction(absl::StrCat("outputs is ", config.outputs(), "; with a TIED head it must equal ",
                                    "config.tokens.vocabulary, which is ", config.tokens().vocabulary()));
}

}  // namespace vitrine
