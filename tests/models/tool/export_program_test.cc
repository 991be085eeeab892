// SPDX-License-Identifier: Apache-2.0
// Tests that `vitrine-repo export` writes a model's tensors with the names of the library that the model came from,
// such as timm. It must be possible to import these tensors again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "models/repository/foreign/import.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "tests/file_size_limit.h"
#include "tests/models/repository/foreign_weights.h"
#include "tests/models/tool/import_program.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ExportProgram : public ImportProgram {
 protected:
  Outcome Export(const std::string& which, const std::string& target) const {
    return RunRepo(absl::StrCat("export ", Path("models"), " ", which, " --to ", target, " --out ", Path("out")));
  }
  nlohmann::json Json(const std::string& name) const {
    return nlohmann::json::parse(std::ifstream(folder_.path() / "out" / name));
  }
  // Imports a checkpoint of a library and exports it. Expects that the export has the tensor names of the checkpoint,
  // and that an import of the export gives equal weights and labels.
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

TEST_F(ExportProgram, RestoresTheDeitOfTimm) {
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

TEST_F(ExportProgram, RestoresTheXcitOfTimmInBf16) {
  ExpectGivenBack("timm", "xcit_nano_12_p8_224", TimmXcitWeights(128, 12, 4, 8, 7), "--bf16");
  EXPECT_EQ(Json("config.json")["architecture"], "xcit_nano_12_p8_224");
  EXPECT_EQ(ReadForeignWeights(folder_.path() / "out")->at("cls_token").dtype, Dtype::kBF16);
}

TEST_F(ExportProgram, RestoresTheVitOfTransformers) {
  ExpectGivenBack("huggingface", "vit-tiny-patch16-224",
                  HuggingFaceVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  EXPECT_EQ(Json("config.json")["layer_norm_eps"], 1e-12);
  EXPECT_EQ(Json("config.json")["id2label"]["6"], "thing 6");
  EXPECT_EQ(Json("preprocessor_config.json")["image_processor_type"], "ViTImageProcessor");
  const Outcome refused = Export("imported", "timm");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("has LayerNorms with epsilon 1e-12, where timm has 1e-06; --to huggingface"));
}

TEST_F(ExportProgram, NotesDifferencesOfTheLibrarysPreprocessing) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--native 36-1024").code, 0);
  const Outcome exported = Export("imported", "timm");
  EXPECT_EQ(exported.code, 0);
  EXPECT_THAT(exported.output, HasSubstr("note: here each image has its own size; timm stretches it to 224 x 224"));
  EXPECT_EQ(Json("config.json")["pretrained_cfg"]["crop_mode"], "squash");
}

TEST_F(ExportProgram, AFullDiskChangesNothing) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors").code, 0);
  const auto export_on_full_disk = [this] {
    const FileSizeLimit limit(20'000);  // enough for config.json, but not for the weights
    const Outcome outcome = Export("imported", "timm");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output, HasSubstr("model.safetensors.new: File too large"));
  };
  export_on_full_disk();
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
  folder_.Write("out/notes.txt", "before");
  export_on_full_disk();
  EXPECT_EQ(folder_.Read("out/notes.txt"), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "out"), {}), 1) << "only notes.txt";
}

TEST_F(ExportProgram, DoesNotReplaceAModelInTheFolder) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 7}));
  WriteLabels(7);
  ASSERT_EQ(Import("timm", "deit_tiny_patch16_224", "deit.safetensors").code, 0);
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "config.json"}) {
    folder_.Write(absl::StrCat("out/", name), "before");
    const Outcome outcome = Export("imported", "timm");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output, HasSubstr(absl::StrCat(Path("out/"), name, " is there already; move it away")));
    EXPECT_EQ(folder_.Read(absl::StrCat("out/", name)), "before");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "out"), {}), 1);
    fs::remove_all(folder_.path() / "out");
  }
  EXPECT_EQ(Export("imported", "timm").code, 0);
  EXPECT_EQ(Export("imported", "timm").code, 1);
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
