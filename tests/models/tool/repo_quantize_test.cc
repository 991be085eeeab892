// SPDX-License-Identifier: Apache-2.0
// Tests `vitrine-repo quantize` as a program, on a bundled version and the images of its goldens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/repository/manifest.h"
#include "models/repository/stored_version.h"
#include "tests/models/tool/repo_program.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr char kModel[] = "kv-pos-mnist";

// A repository with one model, and an image folder that has the model's golden image in two classes.
class QuantizeProgram : public RepoProgram {
 protected:
  QuantizeProgram() {
    PublishWithoutPlans();
    for (const char* label : {"3", "7"}) AddImages("pictures", label);
  }

  // Publishes the bundled version without its quantization plans.
  void PublishWithoutPlans() {
    absl::StatusOr<StoredVersion> bundled = ReadVersion(fs::path(VITRINE_SOURCE) / "models/bundled", {kModel, 1});
    ASSERT_TRUE(bundled.ok()) << bundled.status();
    Draft draft = {std::move(bundled->manifest), std::move(bundled->weights), std::move(bundled->golden),
                   std::move(bundled->labels), std::move(bundled->extra_files)};
    draft.manifest.clear_precisions();
    std::erase_if(draft.golden.tensors, [](const auto& named) {
      return named.first.starts_with("bf16.") || named.first.starts_with("int8.");
    });
    const absl::StatusOr<VersionId> published = Publish(Models(), kModel, draft);
    ASSERT_TRUE(published.ok()) << published.status();
  }

  std::string Models() const { return folder_ / "models"; }

  // Writes a golden image of the version `count` times, as test images of the class `label`.
  void AddImages(const std::string& data, const std::string& label, int count = 50) {
    const StoredVersion version = Read(1);
    const StoredTensor& image = version.golden.tensors.at(ImageName(version));
    const fs::path place = folder_ / data / "test" / label;
    fs::create_directories(place);
    for (int i = 0; i < count; ++i) {
      std::ofstream(place / absl::StrCat(i, ".png"), std::ios::binary).write(image.As<char>(), image.bytes());
    }
  }

  static std::string ImageName(const StoredVersion& version) {
    for (const auto& [name, tensor] : version.golden.tensors) {
      if (name.starts_with("picture.")) return name;
    }
    return "";
  }

  StoredVersion Read(int64_t number) const {
    absl::StatusOr<StoredVersion> version = ReadVersion(Models(), {kModel, number});
    EXPECT_TRUE(version.ok()) << version.status();
    return version.ok() ? *std::move(version) : StoredVersion();
  }

  Outcome Quantize(const std::string& precision, const std::string& more = "", const std::string& data = "pictures") {
    return Run(absl::StrCat("quantize ", Models(), " ", kModel, " --precision ", precision,
                            " --data imagefolder:", (folder_ / data).string(), " ", more));
  }
};

TEST_F(QuantizeProgram, PublishesTheSameModelWithAVerifiedPlan) {
  const Outcome quantized = Quantize("int8");
  ASSERT_EQ(quantized.exit_code, 0) << quantized.error;
  EXPECT_THAT(quantized.out, AllOf(HasSubstr("kv-pos-mnist/2"), HasSubstr("on pictures test, 100 images")));
  const StoredVersion before = Read(1), after = Read(2);
  EXPECT_EQ(after.weights_sha256, before.weights_sha256);
  EXPECT_EQ(after.labels, before.labels);
  EXPECT_EQ(after.extra_files, before.extra_files);
  EXPECT_EQ(after.manifest.config().SerializeAsString(), before.manifest.config().SerializeAsString());
  EXPECT_EQ(after.manifest.provenance().SerializeAsString(), before.manifest.provenance().SerializeAsString());
  ASSERT_EQ(after.manifest.precisions_size(), 1);
  const v1::PrecisionPlan& plan = after.manifest.precisions(0);
  EXPECT_EQ(plan.precision(), "int8");
  ASSERT_EQ(plan.metrics_size(), 2);
  EXPECT_EQ(plan.metrics(0).name(), "top1");
  EXPECT_EQ(plan.metrics(1).name(), "top1 fp32");
  for (const v1::Metric& metric : plan.metrics()) {
    EXPECT_EQ(metric.split(), "pictures test, 100 images");
    EXPECT_EQ(metric.images(), 100);
  }
  const Outcome verified = Run(absl::StrCat("verify ", Models()));
  EXPECT_EQ(verified.exit_code, 0) << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("goldens within tolerance, int8 "));
  const Outcome shown = Run(absl::StrCat("show ", Models(), " kv-pos-mnist@2"));
  EXPECT_THAT(shown.out, ContainsRegex("top1 fp32 [0-9.]+ % on pictures test, 100 images")) << shown.error;
}

TEST_F(QuantizeProgram, GoldensOfItsPrecisionAreAddedToThoseOfFp32) {
  ASSERT_EQ(Quantize("bf16").exit_code, 0);
  const StoredVersion before = Read(1), after = Read(2);
  size_t narrow = 0;
  for (const auto& [name, tensor] : after.golden.tensors) {
    if (!name.starts_with("bf16.")) continue;
    ++narrow;
    const StoredTensor& fp32 = after.golden.tensors.at(name.substr(5));
    const std::string_view ours(tensor.As<char>(), static_cast<size_t>(tensor.bytes()));
    EXPECT_NE(ours, std::string_view(fp32.As<char>(), static_cast<size_t>(fp32.bytes()))) << name;
  }
  EXPECT_GT(narrow, 0u);
  EXPECT_EQ(after.golden.tensors.size(), before.golden.tensors.size() + narrow);
}

TEST_F(QuantizeProgram, AnotherPrecisionKeepsTheFirstPlan) {
  ASSERT_EQ(Quantize("int8").exit_code, 0);
  ASSERT_EQ(Quantize("bf16").exit_code, 0);
  ASSERT_EQ(Quantize("int8").exit_code, 0);  // the second run replaces the plan
  const v1::Manifest manifest = Read(4).manifest;
  EXPECT_EQ(manifest.precisions_size(), 2);
  EXPECT_NE(FindPrecision(manifest, "int8"), nullptr);
  EXPECT_NE(FindPrecision(manifest, "bf16"), nullptr);
  std::multiset<std::string> tolerances;
  for (const v1::GoldenTolerance& row : manifest.golden_tolerances()) {
    if (row.device() == "cpu") tolerances.insert(row.precision());
  }
  EXPECT_THAT(tolerances, ::testing::ElementsAre("bf16", "fp32", "int8"));
}

TEST_F(QuantizeProgram, JsonHasMeasurementsAndKeptOperators) {
  const Outcome quantized = Quantize("bf16", "--format json --budget 100");
  ASSERT_EQ(quantized.exit_code, 0) << quantized.error;
  const json result = json::parse(quantized.out);
  EXPECT_EQ(result.at("model"), kModel);
  EXPECT_EQ(result.at("version"), 2);
  EXPECT_EQ(result.at("precision"), "bf16");
  EXPECT_EQ(result.at("images"), 100);
  // The data have one image under two labels, so half of the answers are correct in any precision.
  EXPECT_EQ(result.at("top1_fp32"), result.at("top1"));
  EXPECT_TRUE(result.at("kept").empty());
  EXPECT_GT(result.at("groups").get<int>(), 0);
}

TEST_F(QuantizeProgram, RefusesImagesWithUnknownLabels) {
  AddImages("animals", "zebra", 100);
  const Outcome refused = Quantize("int8", "", "animals");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("label \"zebra\""), HasSubstr("which the model lacks; its 10")));
  EXPECT_FALSE(fs::exists(folder_ / "models" / kModel / "2"));
}

TEST_F(QuantizeProgram, RefusesTooFewImagesForTheBudget) {
  AddImages("few", "0", 6);
  const Outcome refused = Quantize("int8", "", "few");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("6 images cannot show a loss of 0.3 percentage points (--budget)"));
  EXPECT_FALSE(fs::exists(folder_ / "models" / kModel / "2"));
  EXPECT_EQ(Quantize("int8", "--limit 99").exit_code, 2);
}

TEST_F(QuantizeProgram, NamesEveryImageThatCannotBeDecoded) {
  std::ofstream(folder_ / "pictures/test/3/0.png") << "no image";
  fs::create_symlink("/nowhere", folder_ / "pictures/test/7/x.png");
  const Outcome refused = Quantize("bf16");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("2 images cannot be decoded; repair or remove them"), HasSubstr("3/0.png"),
                                   HasSubstr("7/x.png")));
}

TEST_F(QuantizeProgram, RefusesAMissingModel) {
  const Outcome refused =
      Run(absl::StrCat("quantize ", Models(), " nothing --precision int8 --data imagefolder:", folder_.string()));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("no version of nothing"));
  EXPECT_FALSE(fs::exists(folder_ / "models" / "nothing"));
}

TEST_F(QuantizeProgram, RefusesAnUnknownPrecision) {
  const Outcome refused = Quantize("fp16");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("--precision"));
}

}  // namespace
}  // namespace vitrine
