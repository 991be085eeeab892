// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/attention_words.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(AttentionWords, NameEveryKindOfTheContract) {
  for (int i = v1::AttentionKind_MIN; i <= v1::AttentionKind_MAX; ++i) {
    const auto kind = static_cast<v1::AttentionKind>(i);
    if (kind == v1::ATTENTION_KIND_UNSPECIFIED || !v1::AttentionKind_IsValid(i)) continue;
    EXPECT_EQ(AttentionKindOf(AttentionKindName(kind)), kind) << i;
  }
  for (int i = v1::FeatureKind_MIN + 1; i <= v1::FeatureKind_MAX; ++i) {
    const auto kind = static_cast<v1::FeatureKind>(i);
    EXPECT_EQ(FeatureKindOf(FeatureKindName(kind)), kind) << i;
  }
}

TEST(AttentionWords, NameKindLayerAndHead) {
  v1::AttentionRequest asked;
  asked.set_kind(v1::CLASS_ATTENTION);
  EXPECT_EQ(MapInWords(asked, 6, 1, -1), "Class attention, layer 1, mean over heads");
  EXPECT_EQ(MapInWords(asked, 6, 0, 2), "Class attention, layer 0, head 2");
  asked.set_kind(v1::ROLLOUT);
  EXPECT_EQ(MapInWords(asked, 6, -1, -1), "Attention rollout");
  asked.set_kind(v1::QUERY_ROW);
  asked.set_query(7);
  EXPECT_EQ(MapInWords(asked, 6, 1, -1), "Attention of one query, row 1, column 1, layer 1, mean over heads");
  EXPECT_EQ(KindInWords(asked, 0), "Attention of one query");
}

TEST(AttentionWords, NameTheModelAndTheClass) {
  v1::ClassifyResponse answer;
  answer.mutable_served_by()->set_model("eit");
  answer.mutable_served_by()->set_version(3);
  EXPECT_EQ(AnswerInWords(answer), "eit version 3") << "an answer without predictions must have no class";
  v1::Prediction& first = *answer.add_predictions();
  first.set_index(4);
  first.set_probability(0.912f);
  EXPECT_EQ(AnswerInWords(answer), "eit version 3: class 4 91.2 %");
  first.set_label("cat");
  EXPECT_EQ(AnswerInWords(answer), "eit version 3: cat 91.2 %");
}

}  // namespace
}  // namespace vitrine
