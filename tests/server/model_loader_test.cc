#include "server/registry/model_loader.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "server/registry/registry.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ModelLoaderTest : public ::testing::Test {
 protected:
  // Turns over one bit in the middle of a file of a version.
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

  ScratchFolder folder_;
  Metrics metrics_{1, ""};
  ModelLoader loader_{folder_.path(), Device{}, &metrics_};
  FakeClock clock_;
};

TEST_F(ModelLoaderTest, LoadsWhatWasPublished) {
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
  for (const NamedTensor& tensor : model.model->Parameters()) bytes += tensor.tensor.numel() * 4;
  for (const NamedTensor& tensor : model.model->Buffers()) {
    bytes += tensor.tensor.numel() * static_cast<int64_t>(tensor.tensor.element_size());
  }
  EXPECT_EQ(model.device_bytes, bytes);
  EXPECT_GT(model.cost->Predict(100, 0), absl::ZeroDuration()) << "the warm-up gives a first guess of the cost";
  ASSERT_NE(model.metrics, nullptr);
}

TEST_F(ModelLoaderTest, VersionsOfAModelShareWhatIsMeasured) {
  const auto first = loader_.Load(PublishVersion(folder_.path(), "small", SmallNativeConfig(), 1));
  const auto second = loader_.Load(PublishVersion(folder_.path(), "small", SmallNativeConfig(), 2));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->cost, (*second)->cost);
  EXPECT_EQ((*first)->metrics, (*second)->metrics);
  EXPECT_NE((*first)->weights_sha256, (*second)->weights_sha256);
}

TEST_F(ModelLoaderTest, TheNullModelLoads) {
  const auto loaded = loader_.Load(PublishVersion(folder_.path(), "null", NullConfig()));
  EXPECT_TRUE(loaded.ok()) << loaded.status();
}

TEST_F(ModelLoaderTest, ACorruptFileIsNamed) {
  for (const std::string file : {"weights.safetensors", "golden.safetensors", "labels.txt"}) {
    const VersionId id = PublishVersion(folder_.path(), "small", SmallNativeConfig());
    Corrupt(id, file);
    const auto loaded = loader_.Load(id);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kFailedPrecondition) << loaded.status();
    EXPECT_THAT(loaded.status().ToString(), AllOf(HasSubstr(file), HasSubstr("small/")));
  }
}

TEST_F(ModelLoaderTest, ACorruptVersionNeverServesAndANewGoodOneDoes) {
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
  const v1::ModelVersion shown = Describe(registry.Get("small").value(), /*with_labels=*/true);
  EXPECT_EQ(shown.state(), v1::READY);
  EXPECT_EQ(shown.labels_size(), 5);
  EXPECT_GT(shown.parameters(), 0);
  EXPECT_GT(shown.device_bytes(), 0);
}

}  // namespace
}  // namespace vitrine
