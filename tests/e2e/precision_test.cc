// SPDX-License-Identifier: Apache-2.0
// Tests precision for callers and operators: the bundled digits, served in the precision that the serving configuration
// sets.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file/replace.h"
#include "common/simd/chosen_path.h"
#include "models/engine/cpu/instructions.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace vitrine::testing {
namespace {

constexpr char kModel[] = "kv-pos-mnist";

// Returns the precisions that this CPU supports, fp32 first.
std::vector<std::string> Precisions() {
  std::vector<std::string> names = {"fp32"};
  for (const Precision precision : {Precision::kBf16, Precision::kInt8}) {
    if (engine::CanCompute(precision, cpu::ChosenPath().value()).ok()) names.emplace_back(Name(precision));
  }
  return names;
}

class PrecisionTest : public ::testing::Test {
 protected:
  // Copies the bundled version into a repository as versions 1 and 2.
  PrecisionTest() {
    const std::filesystem::path from = std::filesystem::path(VITRINE_SOURCE) / "models/bundled" / kModel / "1";
    for (const int version : {1, 2}) {
      const std::filesystem::path to = Root() / kModel / std::to_string(version);
      std::filesystem::create_directories(to);
      std::filesystem::copy(from, to);
      const std::string manifest = absl::StrReplaceAll(
          ReadFile(to / "manifest.textproto"), {{"\nversion: 1\n", absl::StrCat("\nversion: ", version, "\n")}});
      EXPECT_TRUE(ReplaceFile((to / "manifest.textproto").string(), manifest).ok());
    }
  }

  void Write(const std::string& row) {
    const std::string text = absl::StrCat("models { model: '", kModel, "' version_policy { all: true } ", row, " }");
    ASSERT_TRUE(ReplaceFile(folder_.Path("serving"), text).ok());
  }
  ServerOptions Options() const {
    ServerOptions options = TestOptions(Root());
    options.registry.serving_config = folder_.Path("serving");
    return options;
  }
  std::filesystem::path Root() const { return folder_.path() / "repository"; }

  // Classifies a digit; every precision must recognize it.
  static v1::ClassifyResponse Answer(RunningServer& running) {
    v1::ClassifyResponse response;
    const std::string image = ReadFile(std::filesystem::path(VITRINE_SOURCE) / "samples" / "digits" / "digit-7.png");
    const grpc::Status status = running.Classify(ImageRequest(kModel, image), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.predictions_size() > 0 ? response.predictions(0).label() : "", "7");
    return response;
  }

  static int ReadyVersions(RunningServer& running) {
    grpc::ClientContext context;
    v1::ListModelsResponse list;
    EXPECT_TRUE(running.registry().ListModels(&context, v1::ListModelsRequest(), &list).ok());
    int ready = 0;
    for (const v1::ModelVersion& version : list.versions()) ready += version.state() == v1::READY ? 1 : 0;
    return ready;
  }

  const ScratchFolder folder_;
};

TEST_F(PrecisionTest, AModelIsServedInWhatTheFileSaysWhileTheServerRuns) {
  Write("precision: 'fp32'");
  RunningServer running(Options());
  EXPECT_EQ(Answer(running).served_by().precision(), "fp32");
  for (const std::string& precision : Precisions()) {
    Write(absl::StrCat("precision: '", precision, "'"));
    EXPECT_TRUE(Eventually([&] { return Answer(running).served_by().precision() == precision; })) << precision;
  }
}

TEST_F(PrecisionTest, ACanaryMayBeTheSameWeightsInAnotherPrecision) {
  const std::string other = Precisions().back();
  Write(absl::StrCat("labels { label: 'stable' version: 1 } traffic { version: 2 percent: 50 } version_precisions { ",
                     "version: 2 precision: '", other, "' }"));
  RunningServer running(Options());
  ASSERT_TRUE(Eventually([&] { return ReadyVersions(running) == 2; }));
  std::set<std::string> seen;
  for (int i = 0; i < 64; ++i) {
    const v1::ServedBy by = Answer(running).served_by();
    EXPECT_EQ(by.precision(), by.version() == 1 ? "fp32" : other);
    seen.insert(absl::StrCat(by.version()));
  }
  EXPECT_EQ(seen.size(), 2u);
}

}  // namespace
}  // namespace vitrine::testing
