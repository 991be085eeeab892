// SPDX-License-Identifier: Apache-2.0
// Tests the import and the serving of CLIP's image tower, without classes and with vectors of classes.
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/models/tool/import_program.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns the tensors of OpenCLIP's ViT-B-32, with a text tower of one tensor.
Tensors OpenClipWeights() {
  constexpr int64_t kWidth = 768;
  Tensors tensors = {{"logit_scale", at::scalar_tensor(std::log(20.0))}, {"transformer.text", at::ones({2})}};
  uint64_t seed = 0;
  const auto add = [&](const std::string& name, at::IntArrayRef shape, double divisor) {
    tensors["visual." + name] = HashedTensor(shape, ++seed, divisor);
  };
  const auto norm = [&](const std::string& name) {
    tensors["visual." + name + ".weight"] = at::ones({kWidth});
    add(name + ".bias", {kWidth}, 10);
  };
  add("class_embedding", {kWidth}, 1);
  add("positional_embedding", {50, kWidth}, 2);
  add("conv1.weight", {kWidth, 3, 32, 32}, 30);
  add("proj", {kWidth, 512}, 16);
  norm("ln_pre");
  norm("ln_post");
  for (int i = 0; i < 12; ++i) {
    const std::string block = absl::StrCat("transformer.resblocks.", i, ".");
    norm(block + "ln_1");
    norm(block + "ln_2");
    for (const auto& [name, rows, columns] :
         std::vector<std::tuple<std::string, int64_t, int64_t>>{{"attn.in_proj_", 3 * kWidth, kWidth},
                                                                {"attn.out_proj.", kWidth, kWidth},
                                                                {"mlp.c_fc.", 4 * kWidth, kWidth},
                                                                {"mlp.c_proj.", kWidth, 4 * kWidth}}) {
      add(absl::StrCat(block, name, "weight"), {rows, columns}, 20);
      add(absl::StrCat(block, name, "bias"), {rows}, 20);
    }
  }
  return tensors;
}

void WriteVectors(const std::string& path, const at::Tensor& vectors) {
  std::string header = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (", vectors.size(0), ", ",
                                    vectors.size(1), "), }");
  header.resize(117, ' ');
  std::ofstream(path, std::ios::binary) << std::string("\x93NUMPY\x01\x00", 8) << std::string("\x76\x00", 2) << header
                                        << '\n'
                                        << std::string_view(static_cast<const char*>(vectors.data_ptr()),
                                                            static_cast<size_t>(vectors.nbytes()));
}

// Without class vectors, the imported tower has no classes. With class vectors, the logit of a class is the scaled
// cosine of the served image vector and the class vector.
TEST_F(ImportProgram, ClipServesEmbeddingsOrClassesFromVectors) {
  // A folder as OpenCLIP's save_for_hf writes it.
  std::filesystem::create_directory(Path("clip"));
  Write("clip/open_clip_model.safetensors", OpenClipWeights());
  std::ofstream(Path("clip/open_clip_config.json"))
      << R"({"model_cfg": {"embed_dim": 512, "vision_cfg": {"image_size": 224, "layers": 12, "width": 768, "patch_size": 32}},
             "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "resize_mode": "squash"}})";
  WriteLabels(3);
  const at::Tensor vectors = HashedTensor({3, 512}, 99);
  WriteVectors(Path("vectors.npy"), vectors);
  const std::string arch = absl::StrCat(Path("clip/open_clip_model.safetensors"), " --from openclip --arch ViT-B-32 ");
  const Outcome tower = RunRepo(absl::StrCat("import ", Path("models"), " tower ", Path("clip")));
  ASSERT_EQ(tower.code, 0) << tower.output;
  EXPECT_THAT(tower.output, AllOf(HasSubstr("openclip's ViT-B-32, "), HasSubstr("taken from it: mean 0.5,0.4,0.3")));
  EXPECT_EQ(ReadVersion(Path("models"), {"tower", 1})->manifest.config().preprocessing().fixed().fit(),
            v1::FixedResolution::STRETCH);
  const Outcome surveyed = RunRepo("survey " + folder_.path().string());
  EXPECT_THAT(surveyed.output, AllOf(HasSubstr("clip  ViT-B-32  "), HasSubstr("1 of 1 model can be served")));
  const Outcome birds = RunRepo(absl::StrCat("import ", Path("models"), " birds ", arch, "--labels ",
                                             Path("labels.txt"), " --zero-shot ", Path("vectors.npy")));
  ASSERT_EQ(birds.code, 0) << birds.output;
  EXPECT_THAT(ReadVersion(Path("models"), {"birds", 1})->manifest.provenance().data(), HasSubstr("scale 20"));

  RunningServer server(folder_.path() / "models");
  const std::string image = NoiseJpeg(320, 200, 5);
  v1::ClassifyRequest request = ImageRequest("tower", image);
  v1::ClassifyResponse refused;
  const grpc::Status no_classes = server.Classify(request, &refused);
  EXPECT_EQ(no_classes.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(no_classes.error_message(), AllOf(HasSubstr("has no classes"), HasSubstr("`embed`")));

  std::vector<at::Tensor> embedded;
  v1::ClassifyResponse response;
  for (const char* model : {"tower", "birds"}) {
    request = ImageRequest(model, image);
    v1::FeatureRequest& feature = *request.add_features();
    feature.set_kind(v1::PROJECTION);
    feature.set_normalize(true);
    if (model == std::string("birds")) request.set_top_k(3);
    response.Clear();
    const grpc::Status status = server.Classify(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.features(0).width(), 512);
    embedded.push_back(at::empty({512}));
    std::memcpy(embedded.back().data_ptr(), response.features(0).values().data(), 512 * sizeof(float));
  }
  EXPECT_TRUE(at::equal(embedded[0], embedded[1]));
  ASSERT_EQ(response.predictions_size(), 3);
  for (const v1::Prediction& prediction : response.predictions()) {
    const at::Tensor vector = vectors[prediction.index()];
    EXPECT_EQ(prediction.label(), absl::StrCat("thing ", prediction.index()));
    EXPECT_NEAR(prediction.logit(), 20 * embedded[1].dot(vector).item<float>() / vector.norm().item<float>(), 1e-3);
  }
}

TEST_F(ImportProgram, ClassVectorsNeedAProjection) {
  Write("deit.safetensors", TimmVitWeights({.width = 192, .depth = 12, .patch = 16, .cells = 196, .classes = 3}));
  WriteLabels(3);
  WriteVectors(Path("vectors.npy"), at::ones({3, 512}));
  const Outcome refused =
      Import("timm", "deit_tiny_patch16_224", "deit.safetensors", "--zero-shot " + Path("vectors.npy"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("--zero-shot needs a model whose vectors compare with those of texts"));
  ExpectNothingPublished();
}

}  // namespace
}  // namespace vitrine::testing
