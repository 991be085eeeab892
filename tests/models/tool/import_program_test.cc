// SPDX-License-Identifier: Apache-2.0
// Tests `vitrine-repo import` and `export` as a program: a foreign checkpoint becomes a version that verifies, that a
// server serves, and that becomes the checkpoint again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/repository/import/import.h"
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
namespace fs = std::filesystem;

struct Outcome {
  int code = -1;
  std::string output;  // stdout and stderr
};

Outcome RunRepo(const std::string& arguments) {
  FILE* pipe = popen(absl::StrCat(VITRINE_BIN, "/vitrine-repo ", arguments, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  std::array<char, 4096> part;
  while (const size_t got = fread(part.data(), 1, part.size(), pipe)) outcome.output.append(part.data(), got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class ImportProgram : public ::testing::Test {
 protected:
  void Write(const std::string& name, const Tensors& tensors) {
    std::ofstream(folder_.path() / name, std::ios::binary) << *WriteSafetensors({Stored(tensors), {}});
  }
  void WriteLabels(int count) {
    std::ofstream file(folder_.path() / "labels.txt");
    // no line feed at the end of the file
    for (int i = 0; i < count; ++i) file << "thing " << i << (i + 1 < count ? "\n" : "");
  }
  std::string Path(const std::string& name) const { return folder_.path() / name; }
  Outcome Import(const std::string& source, const std::string& arch, const std::string& weights,
                 const std::string& more = "") {
    return RunRepo(absl::StrCat("import ", Path("models"), " imported ", Path(weights), " --from ", source, " --arch ",
                                arch, " --labels ", Path("labels.txt"), " ", more));
  }
  void ExpectNothingPublished() const { EXPECT_FALSE(fs::exists(folder_.path() / "models" / "imported" / "1")); }

  // Expects that the server's answer for an image equals the result of the imported tensors without a server.
  void ExpectServed(int classes) {
    const absl::StatusOr<StoredVersion> version = ReadVersion(Path("models"), {"imported", 1});
    ASSERT_TRUE(version.ok()) << version.status();
    const WeightedModel model = FitWeights(version->manifest, version->weights).value();
    RunningServer server(folder_.path() / "models");
    const std::string image = NoiseJpeg(320, 200, 5);
    v1::ClassifyRequest request = ImageRequest("imported", image);
    request.set_top_k(classes);
    v1::ClassifyResponse response;
    const grpc::Status status = server.Classify(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const std::vector<float> alone = LogitsAlone(model, image);
    ASSERT_EQ(response.predictions_size(), classes);
    for (const v1::Prediction& prediction : response.predictions()) {
      EXPECT_EQ(prediction.label(), absl::StrCat("thing ", prediction.index()));
      EXPECT_NEAR(prediction.logit(), alone[prediction.index()], 1e-4);
    }
  }

  const ScratchFolder folder_;
};

TEST_F(ImportProgram, TimmsDeitIsVerifiedAndServed) {
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

// Queries and keys this large make softmax amplify differences of rounding between two paths.
TEST_F(ImportProgram, WhatNoServerWouldAcceptIsNotPublished) {
  Tensors tensors = TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7});
  for (auto& [name, tensor] : tensors) {
    if (!absl::EndsWith(name, "attn.qkv.weight")) continue;
    tensor = tensor.clone();
    tensor.narrow(0, 0, 2 * 192).mul_(60);
  }
  Write("deit.safetensors", tensors);
  WriteLabels(7);
  const Outcome refused = Import("timm", "deit_tiny_patch16_224.fb_in1k", "deit.safetensors");
  EXPECT_EQ(refused.code, 1) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr("nothing was published"), HasSubstr("the tolerance is")));
  ExpectNothingPublished();
}

TEST_F(ImportProgram, TimmsXcitIsVerifiedAndServed) {
  Write("xcit.safetensors", TimmXcitWeights(128, 12, 4, 16, 7));
  WriteLabels(7);
  const Outcome imported = Import("timm", "xcit_nano_12_p16_224", "xcit.safetensors", "--bf16");
  ASSERT_EQ(imported.code, 0) << imported.output;
  EXPECT_EQ(RunRepo(absl::StrCat("verify ", Path("models"))).code, 0);
  ExpectServed(7);
}

TEST_F(ImportProgram, TransformersVitWithItsOwnStatistics) {
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

TEST_F(ImportProgram, TheLicenceIsThatOfTheSourceUnlessOneIsGiven) {
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

TEST_F(ImportProgram, TheConfigBesideTheWeightsIsUsedAndTold) {
  Write("model.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 2}));
  const std::string images = R"("pretrained_cfg": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
                                                   "crop_pct": 0.95, "interpolation": "bilinear"}})";
  const auto import = [this](const std::string& more) {
    return RunRepo(absl::StrCat("import ", Path("models"), " imported ", folder_.path().string(),
                                " --from timm --arch vit_tiny_patch16_224 ", more));
  };
  std::ofstream(Path("config.json")) << R"({"architecture": "deit_tiny_patch16_224", "label_names": ["a", "b"], )"
                                     << images;
  const std::string labels = absl::StrCat("--labels ", Path("config.json"));
  Outcome outcome = import(labels);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("give --arch deit_tiny_patch16_224"));
  ExpectNothingPublished();

  std::ofstream(Path("config.json")) << R"({"architecture": "vit_tiny_patch16_224", "label_names": ["a", "b"], )"
                                     << images;
  outcome = import("");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr(labels));
  outcome = import(labels);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("config.json: taken from it: mean 0.485,0.456,0.406, std 0.229,0.224,0.225, "
                                        "interpolation bilinear, crop 0.95"));
  v1::Preprocessing preprocessing = ReadManifest(Path("models"), {"imported", 1})->config().preprocessing();
  EXPECT_EQ(preprocessing.mean(0), 0.485F);
  EXPECT_EQ(preprocessing.interpolation(), v1::BILINEAR);
  EXPECT_EQ(preprocessing.fixed().crop(), 0.95);
  ASSERT_EQ(import(labels + " --mean 0.5,0.5,0.5 --crop 0.9").code, 0);
  preprocessing = ReadManifest(Path("models"), {"imported", 2})->config().preprocessing();
  EXPECT_EQ(preprocessing.mean(0), 0.5F);
  EXPECT_EQ(preprocessing.std(0), 0.229F);
  EXPECT_EQ(preprocessing.fixed().crop(), 0.9);
}

TEST_F(ImportProgram, AHeadOfAnotherNameIsUsedAndTold) {
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

TEST_F(ImportProgram, RoundsAsPillowUnlessToldNotTo) {
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
TEST_F(ImportProgram, VerifyingAgainstTimmSaysWhatIsMissing) {
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

TEST_F(ImportProgram, NativeResolutionTakesImagesAtTheirOwnSize) {
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

TEST_F(ImportProgram, NativeXcitHasItsPatchAsCell) {
  Write("xcit.safetensors", TimmXcitWeights(128, 12, 4, 8, 7));
  WriteLabels(7);
  const Outcome imported = Import("timm", "xcit_nano_12_p8_224", "xcit.safetensors", "--native 100-1500");
  ASSERT_EQ(imported.code, 0) << imported.output;
  EXPECT_EQ(ReadManifest(Path("models"), {"imported", 1})->config().preprocessing().native().cell(), 8);
  ExpectServed(7);
}

TEST_F(ImportProgram, NativeRangesThatAreNoneAreRefused) {
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

TEST_F(ImportProgram, LabelsAreReadAsEditorsWriteThem) {
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
}

TEST_F(ImportProgram, RefusalsSayWhatToDoAndPublishNothing) {
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

  for (const char* flag : {"--std 0,0.1,0.2", "--std 58.395,57.12,57.375", "--mean 123.675,116.28,103.53",
                           "--mean -0.5,-0.5,-0.5", "--crop 0", "--crop 90"}) {
    outcome = Import("timm", "deit_tiny_patch16_224", "deit.safetensors", flag);
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_THAT(outcome.output, HasSubstr("must be ")) << flag;
  }

  outcome = Import("keras", "deit_tiny_patch16_224", "deit.safetensors");
  EXPECT_EQ(outcome.code, 2);
  ExpectNothingPublished();
}

class ExportProgram : public ImportProgram {
 protected:
  Outcome Export(const std::string& which, const std::string& target) const {
    return RunRepo(absl::StrCat("export ", Path("models"), " ", which, " --to ", target, " --out ", Path("out")));
  }
  nlohmann::json Json(const std::string& name) const {
    return nlohmann::json::parse(std::ifstream(folder_.path() / "out" / name));
  }
  // Publishes a checkpoint of a library, exports it, and expects the library's tensors, then the same version again.
  void ExpectGivenBack(const std::string& library, const std::string& arch, const Tensors& tensors,
                       const std::string& more = "") {
    Write("weights.safetensors", tensors);
    WriteLabels(7);
    ASSERT_EQ(Import(library, arch, "weights.safetensors", "--licence mit " + more).code, 0);
    const Outcome exported = Export("imported@1", library);
    ASSERT_EQ(exported.code, 0) << exported.output;
    const Outcome again = RunRepo(absl::StrCat("import ", Path("again"), " imported ", Path("out"), " --from ", library,
                                               " --arch ", arch, " --labels ", Path("out/config.json"), " ", more));
    ASSERT_EQ(again.code, 0) << again.output;
    const StoredVersion one = *ReadVersion(Path("models"), {"imported", 1});
    const StoredVersion two = *ReadVersion(Path("again"), {"imported", 1});
    EXPECT_EQ(one.weights_sha256, two.weights_sha256);
    EXPECT_EQ(one.labels, two.labels);
    EXPECT_EQ(two.manifest.provenance().licence(), "mit");
    const TensorMap written = *ReadForeignWeights(folder_.path() / "out");
    for (const auto& [name, tensor] : written) ASSERT_TRUE(tensors.contains(name)) << name;
    for (const auto& [name, tensor] : tensors) {
      EXPECT_TRUE(written.contains(name) || name.ends_with("num_batches_tracked")) << name;
    }
  }
};

TEST_F(ExportProgram, GivesTimmItsDeitBack) {
  ExpectGivenBack("timm", "deit_tiny_patch16_224",
                  TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  const nlohmann::json config = Json("config.json");
  EXPECT_EQ(config["architecture"], "deit_tiny_patch16_224");
  EXPECT_EQ(config["model_args"]["img_size"], nlohmann::json({224, 224}));
  EXPECT_EQ(config["label_names"][6], "thing 6");
  EXPECT_EQ(config["pretrained_cfg"]["mean"].dump(), "[0.485,0.456,0.406]");
  EXPECT_EQ(config["pretrained_cfg"]["crop_pct"], 0.9);
  EXPECT_EQ(config["pretrained_cfg"]["license"], "mit");
}

TEST_F(ExportProgram, GivesTimmItsXcitBackInItsType) {
  ExpectGivenBack("timm", "xcit_nano_12_p8_224", TimmXcitWeights(128, 12, 4, 8, 7), "--bf16");
  EXPECT_EQ(Json("config.json")["architecture"], "xcit_nano_12_p8_224");
  EXPECT_EQ(ReadForeignWeights(folder_.path() / "out")->at("cls_token").dtype, Dtype::kBF16);
}

TEST_F(ExportProgram, GivesTransformersItsVitBack) {
  ExpectGivenBack("huggingface", "vit-tiny-patch16-224",
                  HuggingFaceVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  EXPECT_EQ(Json("config.json")["layer_norm_eps"], 1e-12);
  EXPECT_EQ(Json("config.json")["id2label"]["6"], "thing 6");
  EXPECT_EQ(Json("preprocessor_config.json")["image_processor_type"], "ViTImageProcessor");
  const Outcome refused = Export("imported", "timm");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("has LayerNorms with epsilon 1e-12, where timm has 1e-06; --to huggingface"));
}

TEST_F(ExportProgram, NotesWhatThePreprocessingOfTheLibraryLacks) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--native 36-1024").code, 0);
  const Outcome exported = Export("imported", "timm");
  EXPECT_EQ(exported.code, 0);
  EXPECT_THAT(exported.output, HasSubstr("note: here each image has its own size; timm stretches it to 224 x 224"));
  EXPECT_EQ(Json("config.json")["pretrained_cfg"]["crop_mode"], "squash");
}

TEST_F(ExportProgram, RefusesModelsThatTheLibraryLacks) {
  const auto refusal = [this](const std::string& which, const std::string& target) {
    const Outcome outcome = RunRepo(
        absl::StrCat("export ", VITRINE_SOURCE, "/models/bundled ", which, " --to ", target, " --out ", Path("out")));
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    return outcome.output;
  };
  EXPECT_THAT(refusal("eit-mini-cifar10", "timm"),
              HasSubstr("is of the family eit, which timm does not have; models of these families can be exported: "
                        "vit, xcit"));
  EXPECT_THAT(refusal("xcit-n12-f-sne-cifar10", "timm"), HasSubstr("is an XCiT with the QKV embedding F_SNE"));
  EXPECT_THAT(refusal("xcit-n12-f-sne-cifar10", "huggingface"),
              HasSubstr("is of the family xcit, which transformers does not have"));
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
}

}  // namespace
}  // namespace vitrine::testing
