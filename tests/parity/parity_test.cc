// Our models against independent implementations: timm, and plain PyTorch written from the papers' arithmetic where
// timm has no such model. The weights are hashed anew here; what the others made of them lies in tests/golden/parity.
// script/parity records it; docs/parity.md explains.
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "tests/parity/golden_case.h"
#include "tests/parity/observation.h"

namespace vitrine::testing {
namespace {

// fp32 here against fp64 there, in units of max(1, largest magnitude).
constexpr double kTolerance = 1e-4;
// What a model that is wrong in one place must show at least.
constexpr double kFarOff = 100 * kTolerance;

double Off(const at::Tensor& ours, const at::Tensor& theirs) {
  const double largest = std::max(1.0, theirs.abs().max().item<double>());
  return (ours - theirs).abs().max().item<double>() / largest;
}

// The part of the logits that depends on the picture.
at::Tensor Centred(const at::Tensor& logits) {
  return logits - logits.mean(0, /*keepdim=*/true);
}

class Parity : public ::testing::TestWithParam<std::string> {
 protected:
  Parity() : golden_(GetParam()) {
    for (const auto& [name, tensor] : golden_.recorded()) {
      if (name != "logits") names_.push_back(name);
    }
  }

  // What the model makes of all the pictures, run in these batches; logits stacked as they were recorded.
  std::map<std::string, at::Tensor> Observed(const Model& model, const std::vector<std::vector<int>>& batches) const {
    std::map<std::string, at::Tensor> all;
    for (const std::vector<int>& batch : batches) all.merge(Observe(model, golden_.pictures(), batch, names_));
    std::vector<at::Tensor> logits;
    for (size_t i = 0; i < golden_.pictures().size(); ++i) logits.push_back(all["logits." + std::to_string(i)]);
    all["logits"] = at::stack(logits);
    return all;
  }
  void ExpectAsRecorded(const Model& model, const std::vector<std::vector<int>>& batches) const {
    std::map<std::string, at::Tensor> observed = Observed(model, batches);
    for (const auto& [name, expected] : golden_.recorded()) {
      ASSERT_TRUE(observed.contains(name)) << name << " is not handed out";
      ASSERT_EQ(observed[name].sizes(), expected.sizes()) << name;
      EXPECT_LT(Off(observed[name], expected), kTolerance) << name;
    }
    const at::Tensor expected = golden_.recorded().at("logits");
    EXPECT_LT(Off(Centred(observed["logits"]), Centred(expected)), kTolerance) << "logits less their mean";
  }
  double CentredLogitsOff(const Model& model) const {
    const at::Tensor logits = Observed(model, {Mixed()}).at("logits");
    return Off(Centred(logits), Centred(golden_.recorded().at("logits")));
  }

  // Pictures of one size share a batch.
  std::vector<std::vector<int>> BySize() const {
    std::map<std::vector<int64_t>, std::vector<int>> sizes;
    for (size_t i = 0; i < golden_.pictures().size(); ++i) {
      sizes[golden_.pictures()[i].sizes().vec()].push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> batches;
    for (const auto& [size, batch] : sizes) batches.push_back(batch);
    return batches;
  }
  // All in one batch, backwards.
  std::vector<int> Mixed() const {
    std::vector<int> batch;
    for (int i = static_cast<int>(golden_.pictures().size()); i-- > 0;) batch.push_back(i);
    return batch;
  }

  const GoldenCase golden_;
  std::vector<std::string> names_;
};

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Goldens, Parity, ::testing::ValuesIn(GoldenCase::All()), TestName);

TEST_P(Parity, HoldsAloneAndInAMixedBatch) {
  const std::unique_ptr<Model> model = golden_.Build(golden_.Weights());
  ExpectAsRecorded(*model, BySize());
  ExpectAsRecorded(*model, {Mixed()});
}

// The next three show that the comparison can fail.

TEST_P(Parity, TwoBlocksSwappedAreSeen) {
  Safetensors weights = golden_.Weights();
  constexpr std::string_view kFirst = "blocks.0.", kSecond = "blocks.1.";
  int swapped = 0;
  for (auto& [name, tensor] : weights.tensors) {
    if (name.rfind(kFirst, 0) != 0) continue;
    const auto other = weights.tensors.find(std::string(kSecond) + name.substr(kFirst.size()));
    // EIT's blocks differ in the shape of their attention; what has a counterpart is swapped.
    if (other == weights.tensors.end() || other->second.sizes() != tensor.sizes()) continue;
    std::swap(tensor, other->second);
    ++swapped;
  }
  EXPECT_GT(swapped, 5);
  EXPECT_GT(CentredLogitsOff(*golden_.Build(weights)), kFarOff);
}

TEST_P(Parity, ADroppedLocalPatchInteractionIsSeen) {
  if (!golden_.config().has_xcit() && !golden_.config().has_xvit()) {
    GTEST_SKIP() << "this family has no local patch interaction";
  }
  Safetensors weights = golden_.Weights();
  int zeroed = 0;
  for (auto& [name, tensor] : weights.tensors) {
    const bool local =
        name.find(".local_mp.conv2.") != std::string::npos || name.find(".local.convolutions.1.") != std::string::npos;
    if (!local || name.rfind("blocks.1.", 0) != 0) continue;
    tensor.zero_();
    ++zeroed;
  }
  EXPECT_EQ(zeroed, 2);  // weight and bias of one block
  EXPECT_GT(CentredLogitsOff(*golden_.Build(weights)), kFarOff);
}

TEST_P(Parity, AnotherPictureIsSeen) {
  if (golden_.pictures().size() < 2 || golden_.pictures()[0].sizes() != golden_.pictures()[1].sizes()) {
    GTEST_SKIP() << "no two pictures of a size";
  }
  const at::Tensor logits = golden_.recorded().at("logits");
  EXPECT_GT(Off(logits[0], logits[1]), kFarOff);
}

}  // namespace
}  // namespace vitrine::testing
