// SPDX-License-Identifier: Apache-2.0
#include "client/eval/eval_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/eval/likelihood.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

Gate EvalGate(const char* text) {
  return ParseGate(text, EvalGateMeasures()).value();
}

v1::ModelVersion WithClasses(int classes) {
  v1::ModelVersion model;
  model.set_model("m");
  for (int i = 0; i < classes; ++i) model.add_labels("x");
  return model;
}

std::string Refusal(const char* text, int classes, int top_k = 5) {
  const Gate gate = EvalGate(text);
  const absl::Status status = CheckEvalGates({&gate, 1}, WithClasses(classes), top_k);
  EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
  return std::string(status.message());
}

// Two of four answers are correct. kRows has the expected score of every measure.
TEST(EvalGates, EveryMeasureEqualsItsScore) {
  Evaluation made = MadeEvaluation({{0, {{0, 0.5F}, {1, 0.25F}, {2, 0.25F}}},
                                    {0, {{0, 0.5F}, {1, 0.25F}, {2, 0.25F}}},
                                    {1, {{0, 0.5F}, {2, 0.25F}, {1, 0.25F}}},
                                    {1, {{0, 0.5F}, {2, 0.25F}, {1, 0.25F}}}});
  for (Prediction& p : made.predictions) p.likelihood = LikelihoodOf(p.guesses, p.label, 3);
  const EvaluationMetrics metrics = ComputeMetrics(made);
  const std::pair<const char*, double> kRows[] = {
      {"top1>=0", 0.5},         {"top5>=0", 1}, {"macro_recall>=0", 0.5}, {"macro_precision>=0", 0.25},
      {"macro_f1>=0", 1.0 / 3}, {"ece<=1", 0},  {"nll<=9", 1.0397207708}, {"brier<=2", (0.375 + 0.875) / 2}};
  EXPECT_EQ(std::size(kRows), EvalGateMeasures().size());
  for (const auto& row : kRows) {
    const Gate gate = EvalGate(row.first);
    const std::vector<GateResult> results = JudgeEvaluation({&gate, 1}, metrics);
    ASSERT_EQ(results.size(), 1u);
    ASSERT_TRUE(results[0].measured.has_value()) << row.first;
    EXPECT_NEAR(*results[0].measured, row.second, 1e-7) << row.first;
    EXPECT_TRUE(results[0].passed()) << row.first;
  }
}

TEST(EvalGates, AMeasureWithoutAValueFailsWithAReason) {
  const std::vector<Gate> gates = {EvalGate("top1>=0"), EvalGate("nll<=9")};
  const std::vector<GateResult> nothing = JudgeEvaluation(gates, ComputeMetrics(MadeEvaluation({})));
  EXPECT_EQ(nothing[0].remark, "no image was answered");
  EXPECT_FALSE(nothing[0].passed());
  const std::vector<GateResult> part = JudgeEvaluation(gates, ComputeMetrics(MadeEvaluation({{0, {{0, 0.9F}}}})));
  EXPECT_TRUE(part[0].passed());
  EXPECT_FALSE(part[1].passed());
  EXPECT_THAT(part[1].remark, HasSubstr("not every answer has the probabilities of all classes"));
}

TEST(EvalGates, AMeasureThatTheModelCannotHaveIsRefused) {
  EXPECT_THAT(Refusal("top5>=90%", 5), HasSubstr("the gate top5>=90% has no meaning: m has 5 classes"));
  EXPECT_EQ(Refusal("top5>=90%", 6), "");
  for (const char* text : {"nll<=1", "brier<=1"}) {
    EXPECT_EQ(Refusal(text, kMostClassesRequested), "") << text;
    EXPECT_THAT(Refusal(text, kMostClassesRequested + 1), HasSubstr("give --top-k 1001 as well")) << text;
    EXPECT_EQ(Refusal(text, kMostClassesRequested + 1, kMostClassesRequested + 1), "") << text;
  }
  EXPECT_EQ(Refusal("top1>=90%", 1), "");
}

}  // namespace
}  // namespace vitrine
