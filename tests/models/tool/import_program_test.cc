// SPDX-License-Identifier: Apache-2.0
// Tests `vitrine-repo import` as a program: a foreign checkpoint becomes a version that verifies and that a server
// serves.
#include "tests/models/tool/import_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/simd/chosen_path.h"
#include "models/repository/foreign/import.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/models/repository/foreign_weights.h"
#include "tests/paths.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

TEST_F(ImportProgram, DeitOfTimmIsVerifiedAndServed) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  const Outcome imported = Import("timm", "deit_tiny_patch16_224.fb_in1k", "deit.safetensors");
  ASSERT_EQ(imported.code, 0) << imported.output;
  EXPECT_THAT(imported.output, HasSubstr("imported/1"));
  const Outcome verified = RunRepo(absl::StrCat("verify ", Path("models")));
  EXPECT_EQ(verified.code, 0) << verified.output;
  EXPECT_THAT(verified.output, AllOf(HasSubstr("ok      imported/1"), HasSubstr("goldens within tolerance")));
  ExpectServed(7);
}

// Makes queries and keys so large that softmax amplifies the rounding differences between the portable kernels, which
// record goldens, and this CPU's kernels.
TEST_F(ImportProgram, AModelThatFailsItsGoldensIsNotPublished) {
  Tensors tensors = TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7});
  for (auto& [name, tensor] : tensors) {
    if (!absl::EndsWith(name, "attn.qkv.weight")) continue;
    tensor = tensor.clone();
    tensor.narrow(0, 0, 2 * 192).mul_(60);
  }
  Write("deit.safetensors", tensors);
  WriteLabels(7);
  const Outcome refused = Import("timm", "deit_tiny_patch16_224.fb_in1k", "deit.safetensors");
  if (*cpu::ChosenPath() == cpu::CpuPath::kPortable) {  // goldens and results come from the same kernels
    EXPECT_EQ(refused.code, 0) << refused.output;
    return;
  }
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr("nothing was published"), HasSubstr("the tolerance is")));
  ExpectNothingPublished();
}

TEST_F(ImportProgram, XcitOfTimmIsVerifiedAndServed) {
  Write("xcit.safetensors", TimmXcitWeights(128, 12, 4, 16, 7));
  WriteLabels(7);
  const Outcome imported = Import("timm", "xcit_nano_12_p16_224", "xcit.safetensors", "--bf16");
  ASSERT_EQ(imported.code, 0) << imported.output;
  EXPECT_EQ(RunRepo(absl::StrCat("verify ", Path("models"))).code, 0);
  ExpectServed(7);
}

TEST_F(ImportProgram, VitOfTransformersKeepsItsStatistics) {
  Write("vit.safetensors", HuggingFaceVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 3}));
  WriteLabels(3);
  const Outcome imported =
      Import("huggingface", "vit-tiny-patch16-224", "vit.safetensors",
             "--mean 0.1,0.2,0.3 --std 0.4,0.5,0.6 --fit crop --crop 0.875 --interpolation bicubic");
  ASSERT_EQ(imported.code, 0) << imported.output;
  const v1::Preprocessing preprocessing = ReadManifest(Path("models"), {"imported", 1})->config().preprocessing();
  EXPECT_EQ(preprocessing.mean(2), 0.3F);
  EXPECT_EQ(preprocessing.std(0), 0.4F);
  EXPECT_EQ(preprocessing.fixed().crop(), 0.875);
  EXPECT_EQ(preprocessing.fixed().fit(), v1::FixedResolution::CENTER_CROP);
  EXPECT_EQ(preprocessing.interpolation(), v1::BICUBIC);
  EXPECT_EQ(RunRepo(absl::StrCat("verify ", Path("models"))).code, 0);
}

TEST_F(ImportProgram, TheLicenceDefaultsToThatOfTheSource) {
  const auto weights = TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7});
  std::ofstream(Path("deit.safetensors"), std::ios::binary)
      << *WriteSafetensors({Stored(weights), {{"license", "of-metadata"}}});
  WriteLabels(7);
  const auto licence = [this](int64_t version) {
    return ReadManifest(Path("models"), {"imported", version})->provenance().licence();
  };
  const auto import = [this](const std::string& more) {
    const Outcome imported = Import("timm", "deit_tiny_patch16_224", "deit.safetensors", more);
    EXPECT_EQ(imported.code, 0) << imported.output;
    return imported.output;
  };
  EXPECT_THAT(import(""), HasSubstr("licence of-metadata"));
  EXPECT_EQ(licence(1), "of-metadata");
  std::ofstream(Path("config.json")) << R"({"pretrained_cfg": {"license": "of-config"}})";
  import("");
  EXPECT_EQ(licence(2), "of-config");
  std::ofstream(Path("README.md")) << "---\nlicense: of-card\n---\n";
  import("");
  EXPECT_EQ(licence(3), "of-card");
  import("--licence MIT");
  EXPECT_EQ(licence(4), "MIT");
}

TEST_F(ImportProgram, TheConfigBesideTheWeightsIsUsedAndReported) {
  Write("model.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 2}));
  const std::string images = R"("pretrained_cfg": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
                                                   "crop_pct": 0.95, "interpolation": "bilinear"}})";
  const auto import = [this](const std::string& more) {
    return RunRepo(absl::StrCat("import ", Path("models"), " imported ", folder_.path().string(),
                                " --from timm --arch vit_tiny_patch16_224 ", more));
  };
  std::ofstream(Path("config.json")) << R"({"architecture": "deit_tiny_patch16_224", "label_names": ["a", "b"], )"
                                     << images;
  Outcome outcome = import("");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("give --arch deit_tiny_patch16_224"));
  ExpectNothingPublished();

  std::ofstream(Path("config.json")) << R"({"architecture": "vit_tiny_patch16_224", "label_names": ["a", "b"], )"
                                     << images;
  outcome = import("");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(ReadVersion(Path("models"), {"imported", 1})->labels, ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(outcome.output, HasSubstr("config.json: taken from it: mean 0.485,0.456,0.406, std 0.229,0.224,0.225, "
                                        "interpolation bilinear, crop 0.95"));
  v1::Preprocessing preprocessing = ReadManifest(Path("models"), {"imported", 1})->config().preprocessing();
  EXPECT_EQ(preprocessing.mean(0), 0.485F);
  EXPECT_EQ(preprocessing.interpolation(), v1::BILINEAR);
  EXPECT_EQ(preprocessing.fixed().crop(), 0.95);
  std::ofstream(Path("labels.txt")) << "c\nd";
  ASSERT_EQ(import("--mean 0.5,0.5,0.5 --crop 0.9 --labels " + Path("labels.txt")).code, 0);
  EXPECT_THAT(ReadVersion(Path("models"), {"imported", 2})->labels, ::testing::ElementsAre("c", "d"));
  preprocessing = ReadManifest(Path("models"), {"imported", 2})->config().preprocessing();
  EXPECT_EQ(preprocessing.mean(0), 0.5F);
  EXPECT_EQ(preprocessing.std(0), 0.229F);
  EXPECT_EQ(preprocessing.fixed().crop(), 0.9);
}

TEST_F(ImportProgram, LabelsDefaultToThoseOfImageNet) {
  const auto import = [this](int classes, const std::string& architecture) {
    Write("model.safetensors",
          TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = classes}));
    std::ofstream(Path("config.json")) << R"({"architecture": ")" << architecture << R"("})";
    return RunRepo(absl::StrCat("import ", Path("models"), " imported ", folder_.path().string()));
  };
  Outcome outcome = import(7, "deit_tiny_patch16_224");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("has 7 classes"), HasSubstr("not the 1000"), HasSubstr("--labels")));
  outcome = import(7, "convnext_tiny");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("no architecture \"convnext_tiny\""), Not(HasSubstr("--labels"))));
  ExpectNothingPublished();
  outcome = import(1000, "deit_tiny_patch16_224");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the labels are those of ImageNet-1k, because neither --labels"));
  const std::vector<std::string> labels = ReadVersion(Path("models"), {"imported", 1})->labels;
  ASSERT_EQ(labels.size(), 1000);
  EXPECT_EQ(labels[0], "tench");
}

TEST_F(ImportProgram, AHeadOfAnotherNameIsUsedAndReported) {
  Tensors tensors = TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 2});
  for (const char* part : {"weight", "bias"}) {
    auto head = tensors.extract(absl::StrCat("head.", part));
    head.key() = absl::StrCat("fc.", part);
    tensors.insert(std::move(head));
  }
  Write("model.safetensors", tensors);
  WriteLabels(2);
  const Outcome outcome = Import("timm", "vit_tiny_patch16_224", "model.safetensors");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("the layer \"fc\" is used as the classifier"));
  EXPECT_EQ(RunRepo(absl::StrCat("verify ", Path("models"))).code, 0);
}

TEST_F(ImportProgram, RoundsLikePillowUnlessTheFlagForbids) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors").code, 0);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--rounding none").code, 0);
  EXPECT_EQ(ReadManifest(Path("models"), {"imported", 1})->config().preprocessing().rounding(),
            v1::Preprocessing::PILLOW);
  const v1::Manifest unrounded = *ReadManifest(Path("models"), {"imported", 2});
  EXPECT_EQ(unrounded.config().preprocessing().rounding(), v1::Preprocessing::ROUNDING_UNSPECIFIED);
  EXPECT_THAT(unrounded.provenance().recipe(), HasSubstr("--rounding none"));
}

// Only the error is tested here; script/parity --check compares with timm itself.
TEST_F(ImportProgram, VerifyAgainstTimmNamesAMissingModule) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors").code, 0);
  const std::string verify = absl::StrCat("verify ", Path("models"), " imported --against timm --images ");
  Outcome said = RunRepo(absl::StrCat(verify, Path("models")));
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.output, HasSubstr("the folder has no JPEG, PNG or WebP"));
  const std::string images = VITRINE_SOURCE "/samples/cifar";
  said = RunRepo(absl::StrCat("verify ", Path("models"), " --against timm --images ", images));
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.output, HasSubstr("name one model, as MODEL or MODEL@VERSION; "));
  EXPECT_THAT(said.output, HasSubstr("has imported"));
  said = RunRepo(absl::StrCat(verify, images, " --python ", Path("none")));
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.output, HasSubstr(absl::StrCat("--python ", Path("none"), " cannot be run")));
  said = RunRepo(absl::StrCat(verify, images, " --python /bin/false"));
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.output, HasSubstr("--python /bin/false ended without a response"));
  said = RunRepo(absl::StrCat(verify, images, " --python /usr/bin/python3"));
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.output, HasSubstr("--python /usr/bin/python3 has no timm ("));
}

TEST_F(ImportProgram, NativeResolutionUsesTheImagesOwnSize) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  const Outcome imported = Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--native 36-1024");
  ASSERT_EQ(imported.code, 0) << imported.output;
  const v1::Manifest manifest = *ReadManifest(Path("models"), {"imported", 1});
  const v1::NativeResolution& native = manifest.config().preprocessing().native();
  EXPECT_EQ(native.cell(), 16);
  EXPECT_EQ(native.min_tokens(), 36);
  EXPECT_EQ(native.max_tokens(), 1024);
  EXPECT_THAT(manifest.provenance().recipe(), HasSubstr("--native 36-1024"));
  EXPECT_EQ(RunRepo(absl::StrCat("verify ", Path("models"))).code, 0);
  ExpectServed(7);
}

TEST_F(ImportProgram, NativeXcitUsesItsPatchAsCell) {
  Write("xcit.safetensors", TimmXcitWeights(128, 12, 4, 8, 7));
  WriteLabels(7);
  const Outcome imported = Import("timm", "xcit_nano_12_p8_224", "xcit.safetensors", "--native 100-1500");
  ASSERT_EQ(imported.code, 0) << imported.output;
  EXPECT_EQ(ReadManifest(Path("models"), {"imported", 1})->config().preprocessing().native().cell(), 8);
  ExpectServed(7);
}

TEST_F(ImportProgram, InvalidNativeRangesAreRefused) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  for (const char* range : {"36", "0-36", "400-36", "36-", "36-400x", "many"}) {
    const Outcome outcome =
        Import("timm", "deit_tiny_patch16_224", "deit.safetensors", absl::StrCat("--native ", range));
    EXPECT_EQ(outcome.code, 2) << range;
    EXPECT_THAT(outcome.output, HasSubstr("not a range of patches")) << range;
  }
  Outcome outcome = Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--native 36-400 --crop 0.9");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("--native"), HasSubstr("--crop")));
  outcome = Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--native 36-300000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("max_tokens is 300000; it must be at most 262144"));
  ExpectNothingPublished();
}

TEST_F(ImportProgram, LabelsAreReadFromAnyEditor) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 2}));
  int64_t version = 0;
  for (const std::string text : {"\xEF\xBB\xBFtench\ngoldfish\n", "tench\r\ngoldfish\r\n", "tench\rgoldfish",
                                 "tench \ngoldfish\t\n\n", "0 tench\n1 goldfish\n"}) {
    std::ofstream(folder_.path() / "labels.txt", std::ios::binary) << text;
    const Outcome outcome = Import("timm", "deit_tiny_patch16_224", "deit.safetensors");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(ReadVersion(Path("models"), {"imported", ++version})->labels,
                ::testing::ElementsAre("tench", "goldfish"));
  }
  std::ofstream(folder_.path() / "labels.txt", std::ios::binary) << "\xFF\xFEt";
  const Outcome refused = Import("timm", "deit_tiny_patch16_224", "deit.safetensors");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("labels.txt: the text is UTF-16 or UTF-32; save it as UTF-8"));
  std::filesystem::remove(folder_.path() / "labels.txt");
  EXPECT_THAT(Import("timm", "deit_tiny_patch16_224", "deit.safetensors").output,
              HasSubstr("--labels: no such file " + Path("labels.txt")));
}

TEST_F(ImportProgram, ErrorsGiveTheRemedyAndPublishNothing) {
  Tensors tensors = TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7});
  Write("deit.safetensors", tensors);
  WriteLabels(10);
  Outcome outcome = Import("timm", "deit_tiny_patch16_224", "deit.safetensors");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("has 10 labels"), HasSubstr("has 7 classes")));

  WriteLabels(7);
  outcome = Import("timm", "deit_small_patch16_224", "deit.safetensors");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("\"cls_token\" has shape [1, 1, 192]"), HasSubstr("[1, 1, 384]")));

  std::ofstream(folder_.path() / "model.pth") << "PK";
  outcome = Import("timm", "deit_tiny_patch16_224", "model.pth");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("is a pickle"), HasSubstr("save_file")));

  for (const auto& [flag, words] :
       {std::pair("--std 0,0.1,0.2", "--std: must be above 0"),
        std::pair("--std 58.395,57.12,57.375", "divide values for pixels of 0 to 255 by 255"),
        std::pair("--mean 123.675,116.28,103.53", "divide values for pixels of 0 to 255 by 255"),
        std::pair("--mean -0.5,-0.5,-0.5", "--mean: must be from 0 to 1"),
        std::pair("--crop 0", "--crop: must be above 0 and at most 1"),
        std::pair("--crop 90", "--crop: must be above 0 and at most 1"),
        std::pair("--fit stretch --crop 0.9", "--crop needs --fit crop")}) {
    outcome = Import("timm", "deit_tiny_patch16_224", "deit.safetensors", flag);
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_THAT(outcome.output, HasSubstr(words)) << flag;
  }

  outcome = Import("keras", "deit_tiny_patch16_224", "deit.safetensors");
  EXPECT_EQ(outcome.code, 2);
  ExpectNothingPublished();
}

}  // namespace
}  // namespace vitrine::testing
