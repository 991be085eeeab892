// SPDX-License-Identifier: Apache-2.0
// Compares the table of sequence models with the paper's arithmetic.
#include "trainer/lab/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using v1::KvConfig;
using v1::SequenceConfig;

int64_t Count(const SequenceConfig& config) {
  const absl::StatusOr<std::unique_ptr<SequenceModel>> model = MakeSequenceModel(config, 0, at::kMeta);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? (*model)->CountParameters() : 0;
}

TEST(SequenceZoo, EveryRowHasItsStatedParameters) {
  for (const SequenceRow& row : SequenceZoo()) EXPECT_EQ(Count(row.config), row.parameters) << row.name;
  EXPECT_EQ(SequenceZoo().size(), 18u + 12 + 32 + 3 + 18);
}

// Returns true if weight decay applies to the parameter. As in fastai, it does not apply to norms and biases. It does
// not apply to the table of positions either.
bool IsDecayed(const NamedTensor& parameter) {
  if (parameter.name.ends_with("map_pos.weight")) return true;
  return parameter.tensor.dim() >= 2 && !parameter.name.ends_with("positions.table");
}

TEST(SequenceZoo, WeightDecayExcludesPositions) {
  for (const SequenceRow& row : SequenceZoo()) {
    if (row.parameters > 2'000'000) continue;  // larger rows have the same kinds of layers
    const auto model = MakeSequenceModel(row.config);
    ASSERT_TRUE(model.ok()) << row.name;
    for (const NamedTensor& each : (*model)->Parameters()) {
      EXPECT_EQ(each.decays, IsDecayed(each)) << row.name << ": " << each.name;
    }
  }
}

// Returns the number of parameters: V d + T d + L (12 d^2 + 10 d) + 2 d + V (d + 1). Without queries, it is smaller by
// L d^2. With KV+Pos, it is larger by L h (m + 1). V is the number of characters, T the length, d the width, L the
// number of blocks, h the number of heads, and m = 20 the number of channels of positions.
int64_t CharactersFormula(KvConfig::Attention attention, int64_t d, int64_t h, int64_t depth, int64_t length) {
  const int64_t v = 65;
  const int64_t qkv = v * d + length * d + depth * (12 * d * d + 10 * d) + 2 * d + v * (d + 1);
  if (attention == KvConfig::QKV) return qkv;
  return qkv - depth * d * d + (attention == KvConfig::KV_POS ? depth * h * 21 : 0);
}

TEST(SequenceZoo, CharacterModelsFollowThePapersFormula) {
  for (const int64_t d : {64, 192}) {
    for (const int64_t depth : {1, 2, 3, 6}) {
      for (const auto& [attention, name] : {std::pair<KvConfig::Attention, std::string>{KvConfig::QKV, "qkv"},
                                            {KvConfig::KV, "kv"},
                                            {KvConfig::KV_POS, "kv-pos"}}) {
        const std::string four = absl::StrCat("characters-", name, "-d", d, "-l", depth);
        for (const int64_t h : {1, 4}) {
          // The count depends on the number of heads only with KV+Pos.
          const std::string row = absl::StrCat(four, h == 1 && attention == KvConfig::KV_POS ? "-h1" : "");
          const absl::StatusOr<SequenceRow> found = FindSequence(row);
          ASSERT_TRUE(found.ok()) << found.status();
          EXPECT_EQ(found->parameters, CharactersFormula(attention, d, h, depth, 64)) << row;
          for (const int64_t length : {8, 32}) {
            SequenceConfig config = found->config;
            config.set_heads(static_cast<int>(h));
            config.set_max_length(static_cast<int>(length));
            EXPECT_EQ(Count(config), CharactersFormula(attention, d, h, depth, length)) << row << " " << length;
          }
        }
      }
    }
  }
}

TEST(FindSequence, ErrorNamesTheRowsOfTheTask) {
  const absl::Status status = FindSequence("numbers-qkv").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("numbers-qkv-d64-l4"));
  EXPECT_THAT(FindSequence("vit-b16").status().ToString(), HasSubstr("translation-*"));
}

}  // namespace
}  // namespace vitrine
