// SPDX-License-Identifier: Apache-2.0
#include "server/registry/model_loader.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include "common/simd/chosen_path.h"
#include "models/engine/cpu/instructions.h"
#include "models/model_description.h"
#include "models/repository/manifest.h"
#include "server/registry/registry.h"
#include "server/registry/version/memory_budget.h"
#include "tests/read_file.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ModelLoaderTest : public ::testing::Test {
 protected:
  // Flips one bit in the middle of a file of the version.
  void Corrupt(const VersionId& id, const std::string& file) {
    const std::filesystem::path path = folder_.path() / id.model / std::to_string(id.version) / file;
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(stream.is_open()) << path;
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
    stream.seekg(middle);
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(middle);
    stream.put(byte);
  }

  void EditManifest(const VersionId& id, const std::function<void(v1::Manifest&)>& edit) {
    const std::filesystem::path path =
        folder_.path() / id.model / std::to_string(id.version) / std::string(kManifestFile);
    absl::StatusOr<v1::Manifest> manifest = ParseManifest(ReadFile(path));
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    edit(*manifest);
    std::ofstream(path) << FormatManifest(*manifest);
  }
  // Size of the largest file that a version may have. The test's file is sparse and takes no disk space.
  static constexpr int64_t kLarge = kMaxFileBytes;
  void Enlarge(const VersionId& id, const std::string& file) { Resize(id, file, kLarge); }
  void Resize(const VersionId& id, const std::string& file, int64_t bytes) {
    std::filesystem::resize_file(folder_.path() / id.model / std::to_string(id.version) / file, bytes);
    EditManifest(id, [&](v1::Manifest& manifest) {
      for (v1::FileDigest& listed : *manifest.mutable_files()) {
        if (listed.name() == file) listed.set_bytes(bytes);
      }
    });
  }

  ScratchFolder folder_;
  Metrics metrics_{""};
  ModelLoader loader_{folder_.path(), Device{}, {.metrics = &metrics_}};
  FakeClock clock_;
};

TEST_F(ModelLoaderTest, LoadsAPublishedVersion) {
  const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
  const auto loaded = loader_.Load(id);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const LoadedModel& model = **loaded;
  EXPECT_EQ(model.id, id);
  EXPECT_EQ(model.device, "cpu");
  EXPECT_EQ(model.precision, "fp32");
  EXPECT_EQ(model.labels.size(), 5u);
  EXPECT_EQ(model.weights_sha256.size(), 64u);
  EXPECT_FALSE(model.attention.offers.empty());
  int64_t bytes = 0;
  for (const program::Weight& weight : model.description->program().weights()) bytes += weight.elements() * 4;
  EXPECT_EQ(model.device_bytes, bytes);
  EXPECT_GT(model.cost->Predict(100, 0), absl::ZeroDuration()) << "the warm-up gives a first estimate of the cost";
  EXPECT_EQ(model.metrics, metrics_.ForModel("small"));
  EXPECT_EQ(model.version_metrics, model.metrics->ForVersion(id.version));
}

TEST_F(ModelLoaderTest, VersionsOfAModelShareCostAndMetrics) {
  const auto first = loader_.Load(PublishVersion(folder_.path(), "small", SmallNativeConfig(), 1));
  const auto second = loader_.Load(PublishVersion(folder_.path(), "small", SmallNativeConfig(), 2));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->cost, (*second)->cost);
  EXPECT_EQ((*first)->metrics, (*second)->metrics);
  EXPECT_NE((*first)->weights_sha256, (*second)->weights_sha256);
}

// Tests that the goldens are also checked in the requested precision. A precision that is not in the manifest is
// refused, and the error names the remedy.
TEST_F(ModelLoaderTest, AVersionIsComputedInTheRequestedPrecision) {
  const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
  Precision wanted = Precision::kInt8;
  ModelLoader loader(folder_.path(), Device{}, {.precision_of = [&](const VersionId&) { return wanted; }});
  EXPECT_THAT(loader.Load(id).status().ToString(),
              AllOf(HasSubstr("small/1: the manifest has no plan for int8"), HasSubstr("vitrine-repo quantize")));
  EditManifest(id, [](v1::Manifest& manifest) {
    manifest.add_precisions()->set_precision("int8");
    v1::GoldenTolerance& row = *manifest.add_golden_tolerances();
    row.set_device("cpu");
    row.set_precision("int8");
    row.set_tolerance(0.1f);
  });
  const absl::Status can = engine::CanCompute(wanted, cpu::ChosenPath().value());
  const auto loaded = loader.Load(id);
  ASSERT_EQ(loaded.ok(), can.ok()) << loaded.status();
  if (!loaded.ok()) return;  // this CPU cannot compute in int8
  EXPECT_EQ((*loaded)->precision, "int8");
  wanted = Precision::kFp32;
  const auto fp32 = loader.Load(id);
  ASSERT_TRUE(fp32.ok()) << fp32.status();
  EXPECT_NE((*fp32)->cost, (*loaded)->cost);
  EXPECT_LT((*loaded)->device_bytes, (*fp32)->device_bytes) << "weights in int8 take less memory";
  EXPECT_EQ((*fp32)->device_bytes, (*fp32)->manifest.parameters() * 4);
  EXPECT_EQ(loader.BytesOf(id).value(), (*fp32)->manifest.parameters() * 4);
  EXPECT_LT(RerunGoldens(**fp32).value(), 1e-4);
  EXPECT_GT(RerunGoldens(**loaded).value(), 1e-6) << "the goldens were computed in fp32";
  EditManifest(id, [](v1::Manifest& manifest) {
    for (v1::GoldenTolerance& row : *manifest.mutable_golden_tolerances()) {
      if (row.precision() == "int8") row.set_tolerance(1e-7f);
    }
  });
  wanted = Precision::kInt8;
  EXPECT_EQ(loader.BytesOf(id).value(), (*fp32)->manifest.parameters())
      << "the size for the memory limit is that of the precision";
  EXPECT_THAT(loader.Load(id).status().ToString(), HasSubstr("gives logits that are off by"));
  EditManifest(id, [](v1::Manifest& manifest) { manifest.mutable_precisions(0)->add_kept("blocks.9.qkv"); });
  EXPECT_THAT(loader.Load(id).status().ToString(), HasSubstr("'blocks.9.qkv'"));
}

// This test needs no device: the version's size in memory, which BytesOf returns, shows the precision.
TEST_F(ModelLoaderTest, ADeviceComputesInBf16WhatTheManifestAllows) {
  const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
  const Device cuda = {Device::Kind::kCuda, 0};
  std::optional<Precision> chosen;
  ModelLoader loader(folder_.path(), cuda, {.precision_of = [&](const VersionId&) { return chosen; }});
  EXPECT_EQ(loader.BytesOf(id).value(), loader_.BytesOf(id).value()) << "there is no plan";
  EditManifest(id, [](v1::Manifest& manifest) { manifest.add_precisions()->set_precision("bf16"); });
  EXPECT_EQ(loader.BytesOf(id).value(), loader_.BytesOf(id).value()) << "there is no golden tolerance";
  EditManifest(id, [](v1::Manifest& manifest) {
    v1::GoldenTolerance& row = *manifest.add_golden_tolerances();
    row.set_device("cuda");
    row.set_precision("bf16");
    row.set_tolerance(0.1f);
  });
  EXPECT_EQ(loader.BytesOf(id).value() * 2, loader_.BytesOf(id).value()) << "loader_ is for a CPU";
  EXPECT_EQ(ModelLoader(folder_.path(), cuda).BytesOf(id).value() * 2, loader_.BytesOf(id).value());
  chosen = Precision::kFp32;
  EXPECT_EQ(loader.BytesOf(id).value(), loader_.BytesOf(id).value());
}

TEST_F(ModelLoaderTest, AVersionWithARefusedLicenceIsNotLoaded) {
  const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
  ModelLoader loader(folder_.path(), Device{}, {.refused_licences = {"cc-by-nc*"}});
  EXPECT_TRUE(loader.Load(id).ok()) << "a version without a licence is not refused";
  EditManifest(id, [](v1::Manifest& manifest) { manifest.mutable_provenance()->set_licence("CC-BY-NC-4.0"); });
  for (const absl::Status& refused : {loader.Load(id).status(), loader.BytesOf(id).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.ToString(), HasSubstr("small/1: its licence is CC-BY-NC-4.0, which"));
  }
  EXPECT_TRUE(loader_.Load(id).ok()) << "the other loader refuses no licence";
}

TEST_F(ModelLoaderTest, TheNullModelLoads) {
  const auto loaded = loader_.Load(PublishVersion(folder_.path(), "null", NullConfig()));
  EXPECT_TRUE(loaded.ok()) << loaded.status();
}

TEST_F(ModelLoaderTest, TheErrorNamesACorruptFile) {
  for (const std::string file : {"weights.safetensors", "golden.safetensors", "labels.txt"}) {
    const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
    Corrupt(id, file);
    const auto loaded = loader_.Load(id);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kFailedPrecondition) << loaded.status();
    EXPECT_THAT(loaded.status().ToString(), AllOf(HasSubstr(file), HasSubstr("small/")));
  }
}

// Tests that the memory for reading a file counts towards the memory limit, even if the manifest's parameters need less
// memory.
TEST_F(ModelLoaderTest, AFileLargerThanTheMemoryLimitIsNotRead) {
  const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
  EXPECT_EQ(*loader_.BytesOf(id), ReadManifest(folder_.path(), id)->parameters() * 4);
  for (const std::string file : {"weights.safetensors", "golden.safetensors"}) {
    const VersionId large = PublishVersion(folder_.path(), "small", SmallNativeConfig());
    Enlarge(large, file);
    EXPECT_GT(*loader_.BytesOf(large), kLarge / 2) << file;
  }
  int loads = 0;
  RegistryOptions options;
  options.root = folder_.path();
  options.max_memory_bytes = 1 << 20;
  options.keep_versions = 3;
  Registry registry(options,
                    {.load =
                         [&](const VersionId& wanted) {
                           ++loads;
                           return loader_.Load(wanted);
                         },
                     .bytes_of = [this](const VersionId& wanted) { return loader_.BytesOf(wanted); }},
                    clock_);
  registry.Poll();
  EXPECT_EQ(loads, 1) << "only the version with small files is loaded";
  EXPECT_THAT(registry.Get("small", 2)->reason, HasSubstr("exceeds the limit of --model-memory"));
  EXPECT_EQ(registry.Find("small").value()->id, id);
}

TEST_F(ModelLoaderTest, AnOverflowingNumberOfParametersCountsAsLarge) {
  const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
  EditManifest(id, [](v1::Manifest& manifest) { manifest.set_parameters(std::numeric_limits<int64_t>::max()); });
  EXPECT_GT(*loader_.BytesOf(id), kNoMemoryLimit / 2);
}

TEST_F(ModelLoaderTest, AValidVersionServesAfterACorruptOne) {
  const VersionId first = PublishVersion(folder_.path(), "small", SmallNativeConfig(), 1);
  RegistryOptions options;
  options.root = folder_.path();
  Registry registry(
      options, [this](const VersionId& id) { return loader_.Load(id); }, clock_);
  registry.Poll();
  const VersionId second = PublishVersion(folder_.path(), "small", SmallNativeConfig(), 2);
  Corrupt(second, "weights.safetensors");
  registry.Poll();
  EXPECT_EQ(registry.Find("small").value()->id, first);
  const VersionStatus failed = registry.Get("small", second.version).value();
  EXPECT_EQ(failed.state, v1::FAILED);
  EXPECT_THAT(failed.reason, HasSubstr("weights.safetensors"));
  const VersionId third = PublishVersion(folder_.path(), "small", SmallNativeConfig(), 3);
  registry.Poll();
  EXPECT_EQ(registry.Find("small").value()->id, third);
  const VersionStatus status = registry.Get("small").value();
  const v1::ModelVersion shown = Describe(status);
  EXPECT_EQ(shown.state(), v1::READY);
  EXPECT_EQ(status.model->labels.size(), 5u);
  EXPECT_GT(shown.parameters(), 0);
  EXPECT_GT(shown.device_bytes(), 0);
}

}  // namespace
}  // namespace vitrine
