// SPDX-License-Identifier: Apache-2.0
// Tests the recipe `finetune` as its page describes it: one command turns a version and a folder of images into a new
// version, which a server then serves.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/repository/stored_version.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"
#include "tests/trainer/coloured_squares.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using google::protobuf::util::MessageDifferencer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBundled[] = VITRINE_SOURCE "/models/bundled";

// A repository and a folder of images, DATA/<class>/*. One command publishes "mine" into the repository.
class FineTune : public ::testing::Test {
 protected:
  StoredVersion Run(const std::string& model, const std::string& more) {
    const std::string command =
        absl::StrCat(VITRINE_BIN, "/vitrine-train run finetune --start ", kBundled, "/", model,
                     " --data imagefolder:", data_.string(), " --name mine --publish ", repository_.string(),
                     " --work ", folder_.Path("work"), " ", more, " 2>&1");
    FILE* pipe = popen(command.c_str(), "r");
    char piece[4096];
    for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) said_.append(piece, got);
    EXPECT_EQ(pclose(pipe), 0) << command << "\n" << said_;
    auto version = ReadVersion(repository_, {"mine", 1});
    EXPECT_TRUE(version.ok()) << version.status();
    return version.ok() ? *std::move(version) : StoredVersion();
  }

  // Returns the share of the images in the folder that a server classifies correctly.
  double Served() const {
    RunningServer server(repository_);  // fails the test if the version does not become ready
    double right = 0, all = 0;
    for (const auto& entry : fs::recursive_directory_iterator(data_)) {
      if (!entry.is_regular_file()) continue;
      v1::ClassifyResponse response;
      const grpc::Status status = server.Classify(ImageRequest("mine", ReadFile(entry.path())), &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      if (!status.ok()) break;
      right += response.predictions(0).label() == entry.path().parent_path().filename().string() ? 1 : 0;
      ++all;
    }
    return right / all;
  }

  const ScratchFolder folder_;
  const fs::path data_ = folder_.path() / "data", repository_ = folder_.path() / "repository";
  std::string said_;
};

v1::Manifest Bundled(const std::string& model, int64_t version) {
  return *ReadManifest(kBundled, {model, version});
}

TEST_F(FineTune, OneCommandPublishesAVersionForANewTask) {
  WriteImageFolder(ColouredSquares(24, 1), data_);
  const StoredVersion version = Run("eit-mini-cifar10", "--no-report");
  const v1::Manifest start = Bundled("eit-mini-cifar10", 2);
  EXPECT_TRUE(MessageDifferencer::Equals(version.manifest.config().preprocessing(), start.config().preprocessing()));
  EXPECT_THAT(version.labels, ::testing::ElementsAre("blue", "green", "red"));
  EXPECT_THAT(said_, HasSubstr("head: new random weights, 3 classes instead of 10"));

  const v1::Provenance& provenance = version.manifest.provenance();
  EXPECT_EQ(provenance.started_from(), "eit-mini-cifar10/2");
  EXPECT_FALSE(provenance.continues());
  EXPECT_EQ(provenance.data(), "imagefolder:" + data_.string());
  EXPECT_THAT(version.extra_files.at("model_card.md"),
              AllOf(HasSubstr("| fine-tuned from | eit-mini-cifar10/2, weights " +
                              provenance.continued_from().substr(0, 12) + " |"),
                    HasSubstr("| preprocessing | that of eit-mini-cifar10/2 |"), HasSubstr(provenance.data_digest()),
                    Not(HasSubstr("scratch")), Not(HasSubstr("random weights"))));
  EXPECT_GE(Served(), 0.75) << "chance is 0.33";
}

// The two classes are dogs and other objects, with at most eight photographs each. The photographs differ in size.
TEST_F(FineTune, LearnsFromFewPhotographs) {
  const char* const given = std::getenv("VITRINE_DATA");
  const fs::path samples = fs::path(given == nullptr ? "" : given) / "imagenet-samples";
  if (!fs::is_directory(samples)) GTEST_SKIP() << "VITRINE_DATA is not set to a folder with imagenet-samples/";
  int dogs = 0, others = 0;
  const std::set<fs::path> sorted(fs::directory_iterator(samples), fs::directory_iterator{});
  for (const fs::path& file : sorted) {
    const std::string name = file.filename().string();
    const bool is_dog = name >= "n02085" && name < "n02114";
    int& count = is_dog ? dogs : others;
    if (count++ >= 8) continue;
    const fs::path to = data_ / (is_dog ? "dog" : "other");
    fs::create_directories(to);
    fs::copy_file(file, (to / name).replace_extension(".jpg"));
  }
  Run("xcit-n12-f-sne-cifar10", "--no-report");
  EXPECT_GE(Served(), 0.75) << "chance is 0.5";
}

}  // namespace
}  // namespace vitrine::testing
