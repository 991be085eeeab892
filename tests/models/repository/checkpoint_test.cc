// SPDX-License-Identifier: Apache-2.0
#include "models/reference/checkpoint/checkpoint.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "models/reference/checkpoint/stored_tensors.h"
#include "tests/models/repository/kv_version.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns the resident memory of this process.
int64_t ResidentBytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::vector<NamedTensor> AllTensors(const Model& model) {
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) tensors.push_back(buffer);
  return tensors;
}

TEST(Weights, EveryParameterIsReadBackExactly) {
  const auto saved = MakeModel(SmallKvConfig(), 1);
  const auto loaded = MakeModel(SmallKvConfig(), 2);
  (*loaded)->RequireGrad(true);  // as in a trainer that resumes
  const Safetensors weights = SaveWeights(**saved, Dtype::kF32);
  ASSERT_TRUE(LoadWeights(*ParseSafetensors(*WriteSafetensors(weights)), **loaded).ok());
  const std::vector<NamedTensor> expected = AllTensors(**saved);
  const std::vector<NamedTensor> actual = AllTensors(**loaded);
  ASSERT_GT(expected.size(), 20u);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(actual[i].tensor.equal(expected[i].tensor)) << expected[i].name;
  }
  EXPECT_TRUE((*loaded)->Parameters()[0].tensor.requires_grad()) << "loading must not stop training";
}

TEST(Weights, Bfloat16WeightsAreWidenedOnLoading) {
  const auto saved = MakeModel(SmallKvConfig(), 1);
  const auto loaded = MakeModel(SmallKvConfig(), 2);
  const Safetensors weights = SaveWeights(**saved, Dtype::kBF16);
  ASSERT_TRUE(LoadWeights(*ParseSafetensors(*WriteSafetensors(weights)), **loaded).ok());
  for (const NamedTensor& parameter : (*loaded)->Parameters()) {
    EXPECT_EQ(parameter.tensor.scalar_type(), at::kFloat);
    EXPECT_EQ(weights.tensors.at(parameter.name).dtype, Dtype::kBF16);
    EXPECT_TRUE(parameter.tensor.equal(TensorOf(weights.tensors.at(parameter.name)).to(at::kFloat))) << parameter.name;
  }
}

TEST(Weights, FurtherTrainingDoesNotChangeSavedWeights) {
  const auto model = MakeModel(SmallKvConfig(), 1);
  const Safetensors weights = SaveWeights(**model, Dtype::kF32);
  const std::string before = *WriteSafetensors(weights);
  for (const NamedTensor& parameter : (*model)->Parameters()) parameter.tensor.zero_();
  EXPECT_EQ(*WriteSafetensors(weights), before);
}

class LoadRefusalTest : public testing::Test {
 protected:
  void Refused(const std::string& message) {
    const std::string before = *WriteSafetensors(SaveWeights(*model_, Dtype::kF32));
    EXPECT_THAT(LoadWeights(weights_, *model_), Refuses(kRefused, HasSubstr(message)));
    EXPECT_EQ(*WriteSafetensors(SaveWeights(*model_, Dtype::kF32)), before) << "a refused load changed the model";
  }

  const std::unique_ptr<Model> model_ = *MakeModel(SmallKvConfig(), 2);
  Safetensors weights_ = SaveWeights(**MakeModel(SmallKvConfig(), 1), Dtype::kF32);
};

TEST_F(LoadRefusalTest, RefusesAMissingTensor) {
  weights_.tensors.erase("head_out.bias");
  Refused("tensor \"head_out.bias\" is missing");
}

TEST_F(LoadRefusalTest, RefusesAnExtraTensor) {
  weights_.tensors["blocks.2.norm.weight"] = StoredOf(at::full({16}, 1.0, at::kFloat));
  Refused("tensor \"blocks.2.norm.weight\" is in the weights, but the model has no such tensor");
}

TEST_F(LoadRefusalTest, RefusesARenamedTensor) {
  weights_.tensors["head.bias"] = weights_.tensors.extract("head_out.bias").mapped();
  Refused("tensor \"head_out.bias\" is missing");
}

TEST_F(LoadRefusalTest, RefusesAWrongShape) {
  weights_.tensors["head_out.bias"] = StoredOf(at::full({4}, 1.0, at::kFloat));
  Refused("tensor \"head_out.bias\" has shape [4]; the model needs [3]");
}

TEST_F(LoadRefusalTest, RefusesABroadcastableShape) {
  weights_.tensors["head_out.bias"] = StoredOf(at::full({1}, 1.0, at::kFloat));
  Refused("has shape [1]; the model needs [3]");
}

TEST_F(LoadRefusalTest, RefusesIntegers) {
  weights_.tensors["head_out.bias"] = StoredOf(at::full({3}, 1, at::kLong));
  Refused("tensor \"head_out.bias\" is stored as I64; the model needs floating-point numbers");
}

TEST_F(LoadRefusalTest, RefusesNan) {
  TensorOf(weights_.tensors["head_out.bias"]).select(0, 2).fill_(std::nan(""));
  Refused("tensor \"head_out.bias\" holds NaN or infinity");
}

TEST(BuildModel, ReturnsTheModelOfTheVersion) {
  const StoredVersion version = SmallKvVersion();
  const auto model = BuildModel(version);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(*WriteSafetensors(SaveWeights(**model, Dtype::kF32)), *WriteSafetensors(version.weights));
}

TEST(BuildModel, UsesTheWeightsWithoutACopy) {
  const StoredVersion version = SmallKvVersion();
  const auto model = BuildModel(version);
  ASSERT_TRUE(model.ok()) << model.status();
  for (const NamedTensor& parameter : (*model)->Parameters()) {
    EXPECT_EQ(parameter.tensor.data_ptr(),
              static_cast<const void*>(version.weights.tensors.at(parameter.name).data.get()))
        << parameter.name;
  }
}

TEST(BuildModel, WidensNarrowWeightsAndFreesThem) {
  StoredVersion version = SmallKvVersion();
  const Safetensors wide = version.weights;
  version.weights = SaveWeights(**BuildModel(version), Dtype::kBF16);
  const std::weak_ptr<const std::byte> narrow = version.weights.tensors.at("head_out.bias").data;
  const auto model = BuildModel(version.manifest, std::move(version.weights));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(narrow.expired());
  for (const NamedTensor& parameter : (*model)->Parameters()) {
    EXPECT_EQ(parameter.tensor.scalar_type(), at::kFloat) << parameter.name;
    EXPECT_TRUE(parameter.tensor.equal(TensorOf(wide.tensors.at(parameter.name)).to(at::kBFloat16).to(at::kFloat)))
        << parameter.name;
  }
}

// Loading replaces the initial weights. Drawing 1.6 GB of random weights first would take most of the loading time.
TEST(BlankModel, UsesNoResidentMemory) {
  v1::ModelConfig config = SmallKvConfig();
  config.mutable_kv()->set_width(2048);
  config.mutable_kv()->set_mlp_width(8192);
  config.mutable_kv()->set_depth(8);
  const int64_t before = ResidentBytes();
  const auto model = MakeBlankModel(config);
  const int64_t after = ResidentBytes();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_LT(after - before, (*model)->CountParameters() * static_cast<int64_t>(sizeof(float)) / 4);
}

TEST(BuildModel, ErrorsNameTheVersion) {
  StoredVersion version = SmallKvVersion();
  version.weights.tensors.erase("class_token");
  EXPECT_THAT(BuildModel(version), Fails(kRefused, AllOf(HasSubstr("small-kv/3: "), HasSubstr("class_token"))));
  version = SmallKvVersion();
  version.manifest.mutable_config()->mutable_kv()->set_heads(3);
  EXPECT_THAT(BuildModel(version), Fails(kRefused, AllOf(HasSubstr("small-kv/3: config: "), HasSubstr("heads"))));
  version = SmallKvVersion();
  version.manifest.set_parameters(version.manifest.parameters() + 1);
  EXPECT_THAT(BuildModel(version), Fails(kRefused, HasSubstr("the manifest says")));
}

TEST(BuildModel, RefusesAHugeConfigWithoutAllocatingIt) {
  StoredVersion version = SmallKvVersion();
  v1::KvConfig& kv = *version.manifest.mutable_config()->mutable_kv();
  kv.set_width(16384);
  kv.set_mlp_width(65536);
  kv.set_depth(256);  // the weights would take 3 TB
  EXPECT_THAT(BuildModel(version), Fails(kRefused, HasSubstr("has shape")));
}

}  // namespace
}  // namespace vitrine
