// SPDX-License-Identifier: Apache-2.0
// Compares our models with independent implementations: timm, or plain PyTorch written from the papers if timm lacks
// the model. Weights are recomputed from a hash. script/parity records the results in tests/golden/parity;
// docs/research/parity.md describes the method.
#include "tests/models/parity/parity_fixture.h"

namespace vitrine::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Goldens, Parity, ::testing::ValuesIn(GoldenCase::All()), ParityTestName);

TEST_P(Parity, HoldsAloneAndInAMixedBatch) {
  const std::unique_ptr<Model> model = golden_.Build(golden_.Weights());
  double worst = 0;
  for (const auto& batches : {BySize(), Mixed()}) {
    const std::map<std::string, at::Tensor> observed = Observed(*model, batches);
    for (const auto& [name, expected] : golden_.recorded()) {
      ASSERT_TRUE(observed.contains(name)) << name << " is not handed out";
      ASSERT_EQ(observed.at(name).sizes(), expected.sizes()) << name;
      const double off = Off(observed.at(name), expected);
      EXPECT_LT(off, kTolerance) << name;
      worst = std::max(worst, off);
    }
    const double off = Off(Centred(observed.at("logits")), Centred(golden_.recorded().at("logits")));
    EXPECT_LT(off, kTolerance) << "logits less their mean";
    worst = std::max(worst, off);
  }
  RecordProperty("largest_difference", std::to_string(worst * 1e6) + "e-6");
}

}  // namespace
}  // namespace vitrine::testing
