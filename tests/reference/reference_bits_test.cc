// SPDX-License-Identifier: Apache-2.0
// The reference against the modules, in one process: initial values, logits, gradients, training steps, attention,
// features. Equal to the bit.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/zoo.h"
#include "reference/reference_model.h"
#include "tests/models/pictures.h"
#include "tests/models/small_forms.h"

namespace vitrine {
namespace {

struct Pair {
  std::unique_ptr<Model> modules;
  std::unique_ptr<Model> reference;
};

struct Mode {
  bool bf16 = false;
  int threads = 1;
  bool drops_weights = false;
};

std::vector<testing::SmallForm> Forms() {
  std::vector<testing::SmallForm> forms = testing::SmallForms();
  for (const char* name : {"qkv-mnist-p7-d64-l2", "kv-mnist-p7-d64-l2", "kv-pos-mnist-p7-d64-l2"}) {
    forms.push_back({name, FindVariant(name)->config, 28, 28});
  }
  return forms;
}

// Parameters, then buffers.
std::vector<NamedTensor> TensorsOf(const Model& model) {
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) tensors.push_back(std::move(buffer));
  return tensors;
}

class Bits : public ::testing::TestWithParam<testing::SmallForm> {
 protected:
  Bits() : threads_(at::get_num_threads()) {}
  ~Bits() override { at::set_num_threads(threads_); }

  static Pair Make() {
    return {MakeModel(GetParam().config, 3).value(), MakeReferenceModel(GetParam().config, 3).value()};
  }
  // Of several sizes where the family takes them.
  static ImageBatch Images() {
    const testing::SmallForm& form = GetParam();
    const int channels = form.config.preprocessing().channels();
    ImageBatch images = {testing::Picture(channels, form.height, form.width, 1),
                         testing::Picture(channels, form.height, form.width, 2)};
    if (form.config.preprocessing().has_native())
      images.push_back(testing::Picture(channels, form.width, form.height, 3));
    return images;
  }
  static void Train(const Pair& pair, const Mode& mode, const ImageBatch& images);
  static void ExpectEqual(const at::Tensor& a, const at::Tensor& b, const std::string& what) {
    ASSERT_EQ(a.sizes(), b.sizes()) << what;
    EXPECT_TRUE(a.equal(b)) << what << " differs by up to " << testing::Difference(a, b);
  }

 private:
  const int threads_;
};

std::string NameOf(const ::testing::TestParamInfo<testing::SmallForm>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

TEST(Reference, StartsAsTheModulesForTheWholeZoo) {
  constexpr int64_t kMostParameters = 8'000'000;  // larger rows differ in their sizes alone
  int compared = 0;
  for (const ZooRow& row : Zoo()) {
    if (row.parameters > kMostParameters) continue;
    const absl::StatusOr<std::unique_ptr<Model>> reference = MakeReferenceModel(row.config, 7);
    if (absl::IsUnimplemented(reference.status())) continue;  // a family that has modules alone
    ASSERT_TRUE(reference.ok()) << row.name << ": " << reference.status();
    const std::unique_ptr<Model> modules = MakeModel(row.config, 7).value();
    const std::vector<NamedTensor> a = TensorsOf(*modules), b = TensorsOf(**reference);
    ASSERT_EQ(a.size(), b.size()) << row.name;
    for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(a[i].tensor.equal(b[i].tensor)) << row.name << ": " << a[i].name;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(Reference, TheNullModelHasNoTokensToHandOut) {
  const v1::ModelConfig config = FindVariant("null")->config;
  const auto model = MakeReferenceModel(config);
  ASSERT_TRUE(model.ok()) << model.status();
  TokenTap tap;
  tap.Request(TokenTap::kFinal);
  const absl::StatusOr<at::Tensor> logits = RunModel(**model, {testing::Picture(3, 224, 224, 1)}, nullptr, &tap);
  ASSERT_TRUE(logits.ok()) << logits.status();
  EXPECT_EQ(logits->abs().sum().item<double>(), 0);
  EXPECT_EQ(tap.Find(TokenTap::kFinal), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Forms, Bits, ::testing::ValuesIn(Forms()), NameOf);

TEST_P(Bits, WeightsStartEqual) {
  const Pair pair = Make();
  const std::vector<NamedTensor> a = TensorsOf(*pair.modules), b = TensorsOf(*pair.reference);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(a[i].tensor.equal(b[i].tensor)) << a[i].name;
  }
}

TEST_P(Bits, ServedLogits) {
  const Pair pair = Make();
  testing::HashWeights(*pair.modules);
  testing::HashWeights(*pair.reference);
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    ExpectEqual(*RunModel(*pair.modules, Images()), *RunModel(*pair.reference, Images()), "logits");
  }
}

TEST_P(Bits, LogitsOfTheLibraryAlone) {
  const Pair pair = Make();
  const at::NoGradGuard no_grad;
  ForwardContext context;
  context.library_only = true;
  ExpectEqual(pair.modules->Forward(Images(), context), pair.reference->Forward(Images(), context), "logits");
}

TEST_P(Bits, TokensOfEveryStage) {
  const Pair pair = Make();
  std::vector<TokenTap> taps(2);
  constexpr int kStages = 4;
  for (TokenTap& tap : taps) {
    for (int stage = TokenTap::kFinal; stage < kStages; ++stage) tap.Request(stage);
  }
  ASSERT_TRUE(RunModel(*pair.modules, Images(), nullptr, &taps.front()).ok());
  ASSERT_TRUE(RunModel(*pair.reference, Images(), nullptr, &taps.back()).ok());
  for (int stage = TokenTap::kFinal; stage < kStages; ++stage) {
    const PackedTokens* a = taps[0].Find(stage);
    const PackedTokens* b = taps[1].Find(stage);
    ASSERT_EQ(a == nullptr, b == nullptr) << stage;
    if (a == nullptr) continue;
    const int64_t rows = a->layout->total_tokens();
    ASSERT_EQ(rows, b->layout->total_tokens());
    ExpectEqual(a->data.narrow(0, 0, rows), b->data.narrow(0, 0, rows), "stage " + std::to_string(stage));
  }
}

TEST_P(Bits, AttentionOfEveryLayer) {
  const Pair pair = Make();
  std::vector<AttentionTap> taps(2);
  const AttentionSource kSources[] = {AttentionSource::kTokens, AttentionSource::kClassQuery,
                                      AttentionSource::kChannels};
  for (AttentionTap& tap : taps) {
    for (const AttentionSource source : kSources) {
      for (int layer = 0; layer < 3; ++layer) tap.Request(1, source, layer);
    }
  }
  ASSERT_TRUE(RunModel(*pair.modules, Images(), &taps.front()).ok());
  ASSERT_TRUE(RunModel(*pair.reference, Images(), &taps.back()).ok());
  int compared = 0;
  for (const AttentionSource source : kSources) {
    for (int layer = 0; layer < 3; ++layer) {
      const AttentionTap::Matrices* a = taps[0].Find(1, source, layer);
      const AttentionTap::Matrices* b = taps[1].Find(1, source, layer);
      ASSERT_EQ(a == nullptr, b == nullptr) << layer;
      if (a == nullptr) continue;
      ++compared;
      for (const auto& [x, y] :
           {std::pair(a->scores, b->scores), {a->weights, b->weights}, {a->queries, b->queries}, {a->keys, b->keys}}) {
        ASSERT_EQ(x.defined(), y.defined());
        if (x.defined()) ExpectEqual(x, y, "attention of layer " + std::to_string(layer));
      }
    }
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Bits, AbilitiesAreEqual) {
  const Pair pair = Make();
  EXPECT_EQ(pair.modules->cell(), pair.reference->cell());
  EXPECT_EQ(pair.modules->prefix_tokens(), pair.reference->prefix_tokens());
  EXPECT_EQ(pair.modules->features().width, pair.reference->features().width);
  EXPECT_EQ(pair.modules->features().kinds, pair.reference->features().kinds);
  const AttentionAbility a = pair.modules->attention(), b = pair.reference->attention();
  EXPECT_EQ(a.offers.size(), b.offers.size());
  EXPECT_EQ(a.cell, b.cell);
  EXPECT_EQ(a.prefix_tokens, b.prefix_tokens);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.diverging, b.diverging);
  for (const AttentionAbility::Offer& offer : a.offers) {
    const AttentionAbility::Offer* other = b.Find(offer.kind);
    ASSERT_NE(other, nullptr) << offer.kind;
    EXPECT_EQ(other->source, offer.source);
    EXPECT_EQ(other->layers, offer.layers);
    EXPECT_EQ(other->heads, offer.heads);
  }
}

// Ten steps of plain gradient descent with dropout and drop path; every gradient of the first, every weight of the
// last.
void Bits::Train(const Pair& pair, const Mode& mode, const ImageBatch& images) {
  ForwardContext context;
  context.training = true;
  context.bf16 = mode.bf16;
  context.drop_path = 0.1F;
  context.dropout = DropRates::Uniform(0.1F);
  if (mode.drops_weights) context.dropout.attention = 0.1F;
  Model* const models[] = {pair.modules.get(), pair.reference.get()};
  for (Model* model : models) model->RequireGrad(true);
  for (int step = 0; step < 10; ++step) {
    context.dropout_seed = static_cast<uint64_t>(step);
    std::vector<at::Tensor> logits;
    for (Model* model : models) {
      logits.push_back(model->Forward(images, context));
      (logits.back() * testing::Hashed(logits.back().sizes(), 9)).sum().backward();
    }
    const std::vector<NamedTensor> a = models[0]->Parameters(), b = models[1]->Parameters();
    ExpectEqual(logits[0].detach(), logits[1].detach(), "logits of step " + std::to_string(step));
    for (size_t i = 0; i < a.size(); ++i) {
      const at::Tensor x = a[i].tensor.grad(), y = b[i].tensor.grad();
      ASSERT_EQ(x.defined(), y.defined()) << a[i].name;
      if (x.defined()) ExpectEqual(x, y, "gradient of " + a[i].name + " in step " + std::to_string(step));
    }
    const at::NoGradGuard no_grad;
    for (Model* model : models) {
      for (const NamedTensor& parameter : model->Parameters()) {
        at::Tensor weight = parameter.tensor;
        if (!weight.grad().defined()) continue;
        weight.sub_(weight.grad(), 0.01);
        weight.mutable_grad().zero_();
      }
    }
  }
  const std::vector<NamedTensor> a = TensorsOf(*models[0]), b = TensorsOf(*models[1]);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ExpectEqual(a[i].tensor, b[i].tensor, a[i].name);
}

TEST_P(Bits, TenStepsOfTraining) {
  for (const Mode& mode : {Mode{false, 1}, Mode{false, 2}, Mode{true, 1}, Mode{true, 2}, Mode{false, 1, true}}) {
    SCOPED_TRACE((mode.bf16 ? "bf16, " : "fp32, ") + std::to_string(mode.threads) + " threads");
    at::set_num_threads(mode.threads);
    Train(Make(), mode, Images());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace vitrine
