// SPDX-License-Identifier: Apache-2.0
// Tests small models of every form of EIT and its baselines. Logits must match the formulas in fp64, and an image must
// have the same logits alone and in a batch of mixed sizes.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <ostream>

#include "models/reference/model.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/oracle/oracle.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::RandomImage;

struct EitForm {
  std::string name;
  std::string config;  // config text: the family and its options
  int cell = 4;
  // True: the last block convolves only patch tokens, which no later operator reads.
  bool last_convolves = false;
};
void PrintTo(const EitForm& form, std::ostream* out) {
  *out << form.name;
}

v1::ModelConfig ConfigOf(const EitForm& form) {
  return testing::Config("classes: 7 preprocessing { channels: 3 native { cell: " + std::to_string(form.cell) +
                         " min_tokens: 1 max_tokens: 2000 } } " + form.config);
}

std::string Eit(const std::string& options, bool table = true) {
  return "eit { width: 30 depth: 3 heads: 5 mlp_width: 24 pool: 4 " +
         std::string(table ? "grid_rows: 8 grid_columns: 8 " : "") + options + " }";
}
std::string Baseline(const std::string& options, int grid = 8) {
  return "eit_baseline { width: 30 depth: 2 heads: 5 mlp_width: 24 grid_rows: " + std::to_string(grid) +
         " grid_columns: " + std::to_string(grid) + " " + options + " }";
}

class EveryEitForm : public ::testing::TestWithParam<EitForm> {
 protected:
  EveryEitForm() : model_(testing::MakeHashed(ConfigOf(GetParam()))) {
    uint64_t seed = 100;
    for (NamedTensor& buffer : model_->Buffers()) {
      buffer.tensor.copy_(testing::Hashed(buffer.tensor.sizes(), ++seed) * 0.3);
      if (buffer.name.ends_with("running_var")) buffer.tensor.add_(1);
    }
  }
  at::Tensor Run(const ImageBatch& images) const {
    absl::StatusOr<at::Tensor> logits = RunModel(*model_, images);
    EXPECT_TRUE(logits.ok()) << logits.status();
    return *logits;
  }
  std::unique_ptr<Model> model_;
};

INSTANTIATE_TEST_SUITE_P(
    Forms, EveryEitForm,
    ::testing::Values(EitForm{"Eit", Eit("")}, EitForm{"EitT", Eit("conv_projection: false")},
                      EitForm{"EitP", Eit("conv_channels: false")}, EitForm{"Increasing", Eit("schedule: INCREASING")},
                      EitForm{"Invariant", Eit("schedule: INVARIANT")},
                      EitForm{"ConvConv", Eit("convolution: CONV_CONV")},
                      EitForm{"GeluConv", Eit("convolution: GELU_CONV")},
                      EitForm{"BnRelu", Eit("convolution: BN_RELU")},
                      EitForm{"NoPositions", Eit("positions: false", /*table=*/false)},
                      EitForm{"Parallel", Eit("conv_channels: false parallel_convolution: true"), 4, true},
                      EitForm{"Lsra", Baseline("patches: LINEAR mixer: LSRA"), 4, true},
                      EitForm{"CvtP", Baseline("patches: OVERLAPPING mixer: ATTENTION", 16), 2},
                      EitForm{"CvtT", Baseline("patches: LINEAR mixer: CONVOLVED_QKV")},
                      EitForm{"CvtPt", Baseline("patches: OVERLAPPING mixer: CONVOLVED_QKV", 16), 2},
                      EitForm{"VitC", Baseline("patches: STEM mixer: ATTENTION")}),
    [](const auto& info) { return info.param.name; });

TEST_P(EveryEitForm, LogitsAreThoseOfThePapersFormulas) {
  const at::Tensor image = RandomImage(3, 32, 32, 1);
  EXPECT_LT(Difference(Run({image}).to(at::kDouble), testing::OracleLogits(*model_, image)), 2e-5);
}

TEST_P(EveryEitForm, AMixedBatchGivesWhatEachImageGivesAlone) {
  const ImageBatch images = {RandomImage(3, 24, 24, 1), RandomImage(3, 32, 32, 2), RandomImage(3, 32, 32, 3),
                             RandomImage(3, 24, 48, 4), RandomImage(3, 33, 27, 5), RandomImage(3, 24, 24, 6)};
  const at::Tensor together = Run(images);
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_LT(Difference(together[i], Run({images[i]})[0]), 1e-5) << "image " << i;
  }
}

TEST_P(EveryEitForm, LibraryCallsGiveTheSameLogits) {
  const ImageBatch images = {RandomImage(3, 24, 40, 1), RandomImage(3, 32, 32, 2)};
  const at::NoGradGuard no_grad;
  ForwardContext context;
  context.library_only = true;
  EXPECT_LT(Difference(model_->Forward(images, context), Run(images)), 1e-5);
  context.bf16 = true;
  EXPECT_LT(Difference(model_->Forward(images, context), Run(images)), 0.05);
}

TEST_P(EveryEitForm, EveryParameterHasAGradient) {
  model_->RequireGrad(true);
  ForwardContext context;
  context.training = true;
  const at::Tensor logits = model_->Forward({RandomImage(3, 32, 32, 1), RandomImage(3, 24, 40, 2)}, context);
  (logits * testing::Hashed(logits.sizes(), 3)).sum().backward();
  const int depth =
      model_->config().has_eit() ? model_->config().eit().depth() : model_->config().eit_baseline().depth();
  const std::string unseen = "blocks." + std::to_string(depth - 1) + ".convolution.";
  for (const NamedTensor& parameter : model_->Parameters()) {
    ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    const float largest = parameter.tensor.grad().abs().max().item<float>();
    if (GetParam().last_convolves && parameter.name.starts_with(unseen)) {
      EXPECT_EQ(largest, 0) << parameter.name;
    } else {
      EXPECT_GT(largest, 1e-7) << parameter.name;
    }
  }
}

}  // namespace
}  // namespace vitrine
