// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "tests/models/repository/kv_version.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

float Darkened(float value) {
  return value * 0.9F;
}

class GoldenTest : public testing::Test {
 protected:
  absl::Status Check() { return CheckWith(DecodeRawImage); }
  absl::Status CheckWith(const ImageToInput& to_input, std::string_view device = "cpu",
                         std::string_view precision = "fp32", const GoldenRun& run = {}) {
    const std::unique_ptr<Model> model = *BuildModel(version_);
    return CheckGolden(version_, *model, ForwardOf(*model), to_input, device, precision, run);
  }
  absl::Status Record() {
    const std::unique_ptr<Model> model = *BuildModel(version_);
    return RecordGolden(*model, ForwardOf(*model), DecodeRawImage, version_.golden);
  }
  // Returns a tensor that shares memory with the stored version, so a write to the tensor changes the golden values.
  at::Tensor Golden(const std::string& name) { return TensorOf(golden_.at(name)); }
  void Refused(const std::string& message) {
    EXPECT_THAT(Check(), Refuses(kRefused, AllOf(HasSubstr("small-kv/3: "), HasSubstr(message))));
  }

  StoredVersion version_ = SmallKvVersion();
  std::map<std::string, StoredTensor>& golden_ = version_.golden.tensors;
};

TEST_F(GoldenTest, HoldsForTheRecordedWeights) {
  EXPECT_TRUE(Check().ok()) << Check();
  const at::Tensor logits = Golden("logits.1");
  EXPECT_EQ(logits.numel(), 3);
  EXPECT_FALSE(logits.equal(Golden("logits.0"))) << "the goldens do not depend on the input";
}

TEST_F(GoldenTest, DetectsOtherWeights) {
  TensorOf(version_.weights.tensors.at("head_out.weight")).add_(0.01);
  Refused("golden \"input.0\" in a batch of 3 gives logits that are off by");
}

TEST_F(GoldenTest, ChecksEachGoldenAlone) {
  for (const char* name : {"logits.0", "logits.1", "logits.2"}) {
    const at::Tensor logits = Golden(name);
    const at::Tensor whole = logits.clone();
    logits.select(0, 2).add_(0.001);
    Refused("the tolerance is 1e-05");
    logits.copy_(whole);
  }
  ASSERT_TRUE(Check().ok());
}

// Returns the version with a family that takes images of any size.
StoredVersion OfAnySize(StoredVersion version) {
  v1::ModelConfig& config = *version.manifest.mutable_config();
  v1::NativeResolution& sizes = *config.mutable_preprocessing()->mutable_native();
  sizes.set_cell(4);
  sizes.set_min_tokens(1);
  sizes.set_max_tokens(64);
  v1::EitConfig& eit = *config.mutable_eit();
  eit.set_width(16);
  eit.set_depth(1);
  eit.set_heads(2);
  eit.set_mlp_width(32);
  eit.set_pool(4);
  eit.set_grid_rows(2);
  eit.set_grid_columns(2);
  const auto model = MakeModel(config, 7);
  EXPECT_TRUE(model.ok()) << model.status();
  version.manifest.set_parameters((*model)->CountParameters());
  version.weights = SaveWeights(**model, Dtype::kF32);
  return version;
}

TEST_F(GoldenTest, FewGoldensAreTheImagesAndTheSmallestInput) {
  version_ = OfAnySize(version_);
  golden_["input.3"] = StoredOf(at::full({1, 12, 12}, 0.5, at::kFloat));
  golden_["input.4"] = StoredOf(at::full({1, 4, 8}, 0.25, at::kFloat));
  ASSERT_TRUE(Record().ok()) << Record();
  const GoldenRun few = {.few = true};
  EXPECT_TRUE(CheckWith(DecodeRawImage, "cpu", "fp32", few).ok());
  for (const char* name : {"logits.1", "logits.4"}) {
    Golden(name).add_(1);
    EXPECT_THAT(CheckWith(DecodeRawImage, "cpu", "fp32", few), Refuses(kRefused, HasSubstr("in a batch of 2")));
    Golden(name).sub_(1);
  }
  Golden("logits.0").add_(1);
  Golden("logits.3").add_(1);
  EXPECT_TRUE(CheckWith(DecodeRawImage, "cpu", "fp32", few).ok());
  Refused("golden \"input.0\" in a batch of 5");
}

TEST_F(GoldenTest, ReportsTheRunOfASingleGolden) {
  std::vector<int64_t> told;
  const GoldenRun run = {.before_alone = [&] { told.push_back(0); },
                         .after_alone = [&](int64_t tokens) { told.push_back(tokens); }};
  const std::unique_ptr<Model> model = *BuildModel(version_);
  EXPECT_TRUE(CheckWith(DecodeRawImage, "cpu", "fp32", run).ok());
  const at::Tensor first = Golden("input.0");
  const Grid grid = *model->GridFor(static_cast<int>(first.size(1)), static_cast<int>(first.size(2)));
  EXPECT_THAT(told, testing::ElementsAre(0, grid.cells() + model->prefix_tokens()));
}

TEST_F(GoldenTest, DetectsAnotherPreprocessing) {
  const auto darker = [](std::string_view image, const v1::Preprocessing& preprocessing) {
    auto input = DecodeRawImage(image, preprocessing);
    if (input.ok()) std::transform(input->values.begin(), input->values.end(), input->values.begin(), Darkened);
    return input;
  };
  EXPECT_THAT(CheckWith(darker), Refuses(kRefused, HasSubstr("golden \"picture.1\"")));
}

TEST_F(GoldenTest, TheToleranceIsRelativeToTheLargestLogit) {
  version_.manifest.mutable_golden_tolerances(0)->set_tolerance(0.01f);
  const at::Tensor logits = Golden("logits.0");
  const double largest = logits.abs().max().item<double>();
  logits.add_(0.005 * largest);
  EXPECT_TRUE(Check().ok()) << Check();
  logits.add_(0.05 * largest);
  Refused("the tolerance is 0.01");
}

// An untrained head gives logits of a few hundredths, so zeros would pass a check with an absolute tolerance.
TEST_F(GoldenTest, ZerosDoNotPassForSmallLogits) {
  version_.manifest.mutable_golden_tolerances(0)->set_tolerance(0.05f);
  for (const char* weight : {"head_out.weight", "head_out.bias"}) {
    TensorOf(version_.weights.tensors.at(weight)).mul_(0.01);
  }
  ASSERT_TRUE(Record().ok());
  ASSERT_LT(Golden("logits.0").abs().max().item<double>(), 0.05);
  EXPECT_TRUE(Check().ok()) << Check();
  for (const char* weight : {"head_out.weight", "head_out.bias"}) {
    TensorOf(version_.weights.tensors.at(weight)).zero_();
  }
  Refused("gives logits that are off by");
}

TEST_F(GoldenTest, DriftIsTheLargestErrorRelativeToTheLargestLogit) {
  const std::unique_ptr<Model> model = *BuildModel(version_);
  const auto drift_of = [&](int64_t classes) {
    const Forward zeros = [classes](std::span<const FloatArray> images) -> absl::StatusOr<FloatArray> {
      const auto count = static_cast<int64_t>(images.size());
      return FloatArray{.shape = {count, classes}, .values = std::vector<float>(static_cast<size_t>(count * classes))};
    };
    return GoldenDrift(version_, *model, zeros, DecodeRawImage, "fp32");
  };
  const auto drift = [&] { return drift_of(3).value(); };
  for (const char* name : {"logits.0", "logits.1", "logits.2"}) Golden(name).fill_(0);
  EXPECT_EQ(drift(), 0);
  Golden("logits.1").select(0, 2).fill_(0x1p-12);
  EXPECT_EQ(drift(), 0x1p-12F / 1e-3F) << "below a thousandth it counts as thousandths";
  Golden("logits.0").select(0, 1).fill_(0x1p-11);
  EXPECT_EQ(drift(), 0x1p-11F / 1e-3F) << "of all of them";
  Golden("logits.2").select(0, 0).fill_(-8);
  EXPECT_EQ(drift(), 1);
  Golden("logits.2").select(0, 1).fill_(std::nan(""));
  EXPECT_TRUE(std::isnan(drift()));
  EXPECT_THAT(drift_of(2), Fails(absl::StatusCode::kInternal, HasSubstr("wrong shape")));
}

TEST_F(GoldenTest, NanLogitsAreRefused) {
  Golden("logits.0").fill_(std::nan(""));
  Refused("golden \"input.0\" has logits that are not finite");
  TensorOf(version_.weights.tensors.at("head_out.weight")).fill_(3e38);
  Refused("gives logits that are not finite");
}

TEST_F(GoldenTest, NeedsAToleranceForDeviceAndPrecision) {
  EXPECT_THAT(CheckWith(DecodeRawImage, "cpu", "bf16"),
              Refuses(kRefused, HasSubstr("no golden tolerance for bf16 on cpu")));
  EXPECT_THAT(CheckWith(DecodeRawImage, "cuda:1", "fp32"),
              Refuses(kRefused, HasSubstr("no golden tolerance for fp32 on cuda")));
}

// A version may store golden logits for another precision in addition to the fp32 logits. Results in that precision are
// then compared with these logits.
TEST_F(GoldenTest, APrecisionCanHaveItsOwnLogits) {
  v1::GoldenTolerance& tolerance = *version_.manifest.add_golden_tolerances();
  tolerance.set_device("cpu");
  tolerance.set_precision("int8");
  tolerance.set_tolerance(1e-5f);
  EXPECT_TRUE(CheckWith(DecodeRawImage, "cpu", "int8").ok()) << "without its own, those of fp32";
  const std::unique_ptr<Model> model = *BuildModel(version_);
  ASSERT_TRUE(RecordGolden(*model, ForwardOf(*model), DecodeRawImage, version_.golden, "int8").ok());
  EXPECT_TRUE(CheckWith(DecodeRawImage, "cpu", "int8").ok());
  Golden("int8.logits.1").add_(0.01);
  EXPECT_THAT(CheckWith(DecodeRawImage, "cpu", "int8"), Refuses(kRefused, HasSubstr("golden \"picture.1\"")));
  EXPECT_TRUE(Check().ok()) << Check();
  const auto drift = [&](std::string_view precision) {
    return GoldenDrift(version_, *model, ForwardOf(*model), DecodeRawImage, precision).value();
  };
  EXPECT_GT(drift("int8"), 0.001f);
  EXPECT_LT(drift("fp32"), 1e-5f);
  golden_.erase("int8.logits.2");
  EXPECT_THAT(CheckWith(DecodeRawImage, "cpu", "int8"), Refuses(kRefused, HasSubstr("int8.logits.2")));
}

TEST_F(GoldenTest, NeedsAnImage) {
  golden_.erase("picture.1");
  golden_["input.1"] = StoredOf(at::full({1, 8, 8}, 0.5, at::kFloat));
  Refused("no golden image");
  golden_.clear();
  Refused("no golden image");
}

TEST_F(GoldenTest, NeedsWellFormedTensors) {
  const auto refused_with = [&](const std::string& name, const at::Tensor& tensor, const std::string& message) {
    const std::map<std::string, StoredTensor> whole = golden_;
    golden_[name] = StoredOf(tensor);
    Refused(message);
    golden_ = whole;
  };
  refused_with("input.1", at::full({1, 8, 8}, 0.5, at::kFloat), "clashes with picture.1");
  refused_with("input.4", at::full({1, 8, 8}, 0.5, at::kFloat), "\"input.4\" is not input, picture or logits");
  refused_with("comment", at::full({1}, 0.5, at::kFloat), "\"comment\" is not input, picture or logits");
  refused_with("input.0", at::full({3, 8, 8}, 0.5, at::kFloat), "\"input.0\" is not F32 [1, height, width]");
  refused_with("input.0", at::full({1, 8, 8}, 1, at::kLong), "\"input.0\" is not F32");
  refused_with("input.0", at::full({1, 12, 8}, 0.5, at::kFloat), "\"input.0\" does not fit the model");
  refused_with("input.0", at::full({1, 8193, 8}, 0.5, at::kFloat), "\"input.0\" is larger than any image");
  refused_with("input.0", at::full({1, 8, 8193}, 0.5, at::kFloat), "\"input.0\" is larger than any image");
  refused_with("input.0", at::full({1, 8192, 8}, 0.5, at::kFloat), "\"input.0\" does not fit the model");
  refused_with("input.0", at::full({8, 8}, 0.5, at::kFloat), "\"input.0\" is not F32 [1, height, width]");
  refused_with("picture.1", at::full({64}, 1.0, at::kFloat), "\"picture.1\" is not U8 [bytes]");
  refused_with("picture.1", at::full({63}, 1, at::kByte), "\"picture.1\" cannot be decoded: a raw image");
  refused_with("logits.0", at::full({4}, 1.0, at::kFloat), "\"logits.0\" is not F32 [3]");
  golden_.erase("logits.2");
  Refused("\"logits.2\" is missing");
}

TEST_F(GoldenTest, RecordingAgainReplacesTheLogits) {
  const std::string before = *WriteSafetensors(version_.golden);
  Golden("logits.0").fill_(5);
  ASSERT_TRUE(Record().ok());
  EXPECT_EQ(*WriteSafetensors(version_.golden), before);
}

TEST_F(GoldenTest, GoldensOfRoundedWeightsHoldForTheStoredVersion) {
  version_.weights = SaveWeights(**BuildModel(version_), Dtype::kBF16);
  EXPECT_FALSE(Check().ok()) << "rounding must be noticed, or the test proves nothing";
  ASSERT_TRUE(Record().ok());
  ScratchFolder root{FastParent()};
  const Draft draft = {version_.manifest, version_.weights, version_.golden, version_.labels, {}};
  ASSERT_TRUE(Publish(root.path(), "small-kv", draft).ok());
  const auto read = ReadVersion(root.path(), {"small-kv", 1});
  ASSERT_TRUE(read.ok()) << read.status();
  const auto model = BuildModel(*read);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status checked = CheckGolden(*read, **model, ForwardOf(**model), DecodeRawImage, "cpu", "fp32");
  EXPECT_TRUE(checked.ok()) << checked;
}

}  // namespace
}  // namespace vitrine
