// SPDX-License-Identifier: Apache-2.0
// Tests the engine's C API, where possible through its C++ header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "client/engine/vitrine_engine.hpp"
#include "common/imaging/decode.h"
#include "tests/scratch_folder.h"
#include "tests/server/small_models.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;
using vitrine_engine::Answers;
using vitrine_engine::File;
using vitrine_engine::Model;

class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchFolder;
    PublishVersion(folder_->path(), "small", SmallNativeConfig(), 1);
    PublishVersion(folder_->path(), "small", SmallNativeConfig(), 2);
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string Path(const std::string& name) { return folder_->Path(name); }
  // Loads a model, which must fail, and returns the error code.
  static int Load(const char* repository, const std::string& model, const VitrineEngineOptions* options = nullptr) {
    VitrineEngineModel* loaded = reinterpret_cast<VitrineEngineModel*>(1);
    const int code = vitrine_engine_load(repository, model.c_str(), options, &loaded);
    EXPECT_EQ(loaded, nullptr);
    return code;
  }

  static ScratchFolder* folder_;
};
ScratchFolder* EngineTest::folder_ = nullptr;

// Returns the part of an image's answer that must not depend on the other images of its batch.
std::string Lasting(const Answers& answers, size_t image) {
  v1::ClassifyResponse answer;
  EXPECT_TRUE(answer.ParseFromString(std::string(answers.Message(image))));
  answer.clear_timings();
  answer.clear_batch();
  return answer.SerializeAsString();
}

int64_t VersionOf(const std::string& model) {
  v1::ModelVersion version;
  VitrineEngineModel* loaded = nullptr;
  EXPECT_EQ(vitrine_engine_load(nullptr, model.c_str(), nullptr, &loaded), VITRINE_ENGINE_OK)
      << vitrine_engine_last_error();
  const void* data = nullptr;
  size_t size = 0;
  EXPECT_EQ(vitrine_engine_describe_message(loaded, &data, &size), VITRINE_ENGINE_OK);
  EXPECT_TRUE(version.ParseFromArray(data, static_cast<int>(size)));
  EXPECT_EQ(version.labels_size(), 5);
  EXPECT_THAT(vitrine_engine_describe(loaded), HasSubstr("\"feature_width\":"));
  vitrine_engine_free(loaded);
  return version.version();
}

TEST_F(EngineTest, NamesItsVersions) {
  EXPECT_EQ(vitrine_engine_api(), VITRINE_ENGINE_API);
  EXPECT_THAT(vitrine_engine_version(), StrEq(VITRINE_VERSION));
}

TEST_F(EngineTest, FindsAVersionByFolderNameAndRepository) {
  EXPECT_EQ(VersionOf(Path("small")), 2);
  EXPECT_EQ(VersionOf(Path("small@1")), 1);
  EXPECT_EQ(VersionOf(Path("small/1/")), 1);
  setenv("VITRINE_REPOSITORY", folder_->path().c_str(), 1);
  EXPECT_EQ(VersionOf("small@1"), 1);
  unsetenv("VITRINE_REPOSITORY");
  EXPECT_EQ(Load(nullptr, "small"), VITRINE_ENGINE_NOT_FOUND);
  EXPECT_THAT(vitrine_engine_last_error(), HasSubstr("$VITRINE_REPOSITORY"));
  EXPECT_EQ(Load(nullptr, Path("other")), VITRINE_ENGINE_NOT_FOUND);
  EXPECT_EQ(Load(folder_->path().c_str(), "small@x"), VITRINE_ENGINE_INVALID_ARGUMENT);
  EXPECT_EQ(Load(folder_->path().c_str(), "small@7"), VITRINE_ENGINE_NOT_FOUND);
}

TEST_F(EngineTest, RejectsWrongOptionsAndADamagedVersion) {
  VitrineEngineOptions options = {.struct_size = 4, .threads = 0, .precision = nullptr};
  EXPECT_EQ(Load(nullptr, Path("small"), &options), VITRINE_ENGINE_INVALID_ARGUMENT);
  EXPECT_THAT(vitrine_engine_last_error(), HasSubstr("struct_size"));
  options = {.struct_size = sizeof(options), .threads = -1, .precision = nullptr};
  EXPECT_EQ(Load(nullptr, Path("small"), &options), VITRINE_ENGINE_INVALID_ARGUMENT);
  options = {.struct_size = sizeof(options), .threads = 1, .precision = "fp16"};
  EXPECT_EQ(Load(nullptr, Path("small"), &options), VITRINE_ENGINE_INVALID_ARGUMENT);
  options.precision = "bf16";
  EXPECT_EQ(Load(nullptr, Path("small"), &options), VITRINE_ENGINE_FAILED_PRECONDITION);

  PublishVersion(folder_->path(), "damaged", SmallNativeConfig());
  folder_->Write("damaged/1/labels.txt", "changed\n");
  EXPECT_EQ(Load(nullptr, Path("damaged")), VITRINE_ENGINE_FAILED_PRECONDITION);
  EXPECT_THAT(vitrine_engine_last_error(), HasSubstr("labels.txt"));
  EXPECT_EQ(vitrine_engine_load(nullptr, nullptr, nullptr, nullptr), VITRINE_ENGINE_INVALID_ARGUMENT);
}

TEST_F(EngineTest, BitsDoNotDependOnBatchOrThread) {
  const Model model(Path("small"));
  constexpr char kRequest[] =
      R"({"attention": [{"kind": "MEAN_OVER_QUERIES"}], "features": [{"kind": "PATCH_TOKENS"}]})";
  std::vector<std::string> files;
  for (int i = 0; i < 6; ++i) files.push_back(NoisePng(16 + 4 * (i % 3), 20 + 4 * (i % 2), i));
  std::vector<VitrineEngineImage> images;
  std::vector<std::string> alone;
  for (const std::string& file : files) {
    images.push_back(File(file));
    alone.push_back(Lasting(model.Run({images.back()}, kRequest), 0));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        const Answers answers = model.Run(images, kRequest);
        ASSERT_EQ(answers.size(), files.size());
        for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(Lasting(answers, i), alone[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EngineTest, AcceptsPixelsAndModelInputs) {
  const Model model(Path("small"));
  const std::string file = NoisePng(16, 16, 3);
  const Image pixels = Decode(file).value();
  const VitrineEngineImage array = {pixels.pixels.data(), pixels.pixels.size(), 16, 16, 3, VITRINE_ENGINE_UINT8};
  const std::vector<float> input(16 * 16 * 3, 0.5F);
  const VitrineEngineImage floats = {input.data(), 4 * input.size(), 16, 16, 3, VITRINE_ENGINE_FLOAT32};
  VitrineEngineImage normalized = floats;
  normalized.input = VITRINE_ENGINE_NORMALIZED;
  const Answers answers = model.Run({File(file), array, floats, normalized});
  EXPECT_EQ(Lasting(answers, 0), Lasting(answers, 1));
  EXPECT_TRUE(answers.ok(2));
  EXPECT_TRUE(answers.ok(3));
}

TEST_F(EngineTest, AFaultyImageFailsAlone) {
  const Model model(Path("small"));
  const std::string file = NoisePng(16, 16, 3);
  const VitrineEngineImage short_array = {file.data(), 3, 16, 16, 3, VITRINE_ENGINE_UINT8};
  const Answers answers = model.Run({File("no image"), File(file), short_array, VitrineEngineImage()});
  EXPECT_FALSE(answers.ok(0));
  EXPECT_THAT(vitrine_engine_last_error(), HasSubstr("JPEG"));
  EXPECT_TRUE(answers.ok(1));
  EXPECT_FALSE(answers.ok(2));
  EXPECT_FALSE(answers.ok(3));
  EXPECT_THROW(answers.Json(0), vitrine_engine::Error);
}

TEST_F(EngineTest, ReturnsArraysAndJson) {
  const Model model(Path("small"));
  const std::string file = NoisePng(16, 24, 3);
  const Answers answers = model.Run({File(file)}, R"({"top_k": 2, "attention": [{"kind": "WEIGHTS"}],
    "features": [{"kind": "CLASS_TOKEN"}]})");
  EXPECT_GT(answers.Prediction(0, 0).logit, answers.Prediction(0, 1).logit);
  EXPECT_THROW(answers.Prediction(0, 2), vitrine_engine::Error);
  EXPECT_THROW(answers.Prediction(1), vitrine_engine::Error);
  const VitrineEngineArray map = answers.Attention(0);
  EXPECT_EQ(map.rows, 25);  // 4 x 6 cells and the class token
  EXPECT_EQ(map.columns, 25);
  EXPECT_EQ(map.width, 1);
  EXPECT_EQ(answers.Feature(0).rows * answers.Feature(0).columns, 1);
  EXPECT_THAT(std::string(answers.Json(0)), HasSubstr("\"predictions\":[{\"index\":"));
  EXPECT_THROW(answers.Attention(0, 1), vitrine_engine::Error);
  EXPECT_THROW(answers.Feature(0, 1), vitrine_engine::Error);
}

TEST_F(EngineTest, DrawsOverlays) {
  const Model model(Path("small"));
  const std::string file = NoisePng(48, 32, 3);
  const Answers answers =
      model.Run({File(file)}, R"({"attention": [{"kind": "CLASS_TOKEN_ROW", "encoding": "OVERLAY_PNG"}]})");
  EXPECT_THAT(std::string(answers.Json(0)), HasSubstr("\"png\":\"iVBOR"));
  EXPECT_THROW(answers.Attention(0), vitrine_engine::Error) << "a drawing has no values";
}

TEST_F(EngineTest, RejectsRequestsItCannotAnswer) {
  const Model model(Path("small"));
  const std::string file = NoisePng(16, 16, 3);
  const auto code = [&](const std::string& request) {
    try {
      model.Run({File(file)}, request);
    } catch (const vitrine_engine::Error& error) {
      return error.code();
    }
    return static_cast<int>(VITRINE_ENGINE_OK);
  };
  EXPECT_EQ(code("{\"top\": 1}"), VITRINE_ENGINE_INVALID_ARGUMENT);
  EXPECT_EQ(code("\xff"), VITRINE_ENGINE_INVALID_ARGUMENT);
  EXPECT_EQ(code("{}"), VITRINE_ENGINE_OK);
  const Answers halves = model.Run({File(file)}, R"({"attention": [{"kind": "WEIGHTS", "encoding": "FLOAT16"}]})");
  EXPECT_TRUE(halves.ok(0));
  EXPECT_THROW(halves.Attention(0), vitrine_engine::Error);
  EXPECT_THROW(halves.Json(0), vitrine_engine::Error);
  EXPECT_EQ(model.Run({}).size(), 0U);
}

TEST_F(EngineTest, AForkedChildMustLoadAgain) {
  VitrineEngineModel* model = nullptr;
  ASSERT_EQ(vitrine_engine_load(nullptr, Path("small").c_str(), nullptr, &model), VITRINE_ENGINE_OK);
  const std::string file = NoisePng(16, 16, 3);
  const VitrineEngineImage image = File(file);
  const pid_t child = fork();
  if (child == 0) {
    VitrineEngineAnswers* answers = nullptr;
    const int code = vitrine_engine_run(model, &image, 1, nullptr, 0, &answers);
    vitrine_engine_free(model);
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), VITRINE_ENGINE_FAILED_PRECONDITION);
  vitrine_engine_free(model);
}

#ifndef VITRINE_SANITIZED  // sanitizers need more address space than this test's limit
TEST_F(EngineTest, AFailedThreadStartIsAnError) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {rlim_t{1} << 30, rlim_t{1} << 30};  // too little address space for 2,048 thread stacks
    const VitrineEngineOptions options = {sizeof(VitrineEngineOptions), 1024, nullptr};
    _exit(setrlimit(RLIMIT_AS, &limit) != 0 ? 255 : Load(nullptr, Path("small"), &options));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), VITRINE_ENGINE_RESOURCE_EXHAUSTED);
}
#endif

}  // namespace
}  // namespace vitrine
