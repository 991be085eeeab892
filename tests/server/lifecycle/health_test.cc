// SPDX-License-Identifier: Apache-2.0
// Tests the health status of the server and of each model, with fake versions.
#include "server/wire/rpc/health.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/server/registry/fake_repository.h"
#include "tests/without_rights.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kServing = grpc::health::v1::HealthCheckResponse::SERVING;
constexpr auto kNotServing = grpc::health::v1::HealthCheckResponse::NOT_SERVING;

class HealthTest : public ::testing::Test {
 protected:
  void Add(const std::string& model, int64_t version) {
    files_.Add(model, version);
    registry_.Poll();
  }

  FakeRepository files_;
  FakeClock clock_;
  Registry registry_{
      {.root = files_.root(), .keep_versions = 2, .serving_config = "", .admin_state = ""}, files_.Loader(), clock_};
  Health health_{registry_};
};

TEST_F(HealthTest, AFailingModelDoesNotMakeTheServerNotServing) {
  Add("good", 1);
  Add("bad", 1);
  health_.SetServing();
  EXPECT_EQ(health_.Check("model/bad"), kServing);
  health_.SetFailing({{"bad", 1}});
  EXPECT_EQ(health_.Check("model/bad"), kNotServing);
  EXPECT_EQ(health_.Check("model/good"), kServing);
  EXPECT_EQ(health_.Check(""), kServing);
  EXPECT_EQ(health_.WhyNotServing(), "");
  health_.SetFailing({});
  EXPECT_EQ(health_.Check("model/bad"), kServing);
}

TEST_F(HealthTest, TheServerIsNotServingIfEveryModelFails) {
  Add("a", 1);
  Add("b", 1);
  health_.SetServing();
  health_.SetFailing({{"a", 1}, {"b", 1}});
  EXPECT_EQ(health_.Check(""), kNotServing);
  EXPECT_EQ(health_.Check("vitrine.v1.Classifier"), kNotServing);
  EXPECT_THAT(health_.WhyNotServing(), HasSubstr("no ready version can compute"));
  Add("a", 2);
  EXPECT_EQ(health_.Check(""), kServing) << "a new version is believed until it fails";
  EXPECT_EQ(health_.Check("model/a"), kServing) << "one of its versions computes";
  EXPECT_EQ(health_.Check("model/b"), kNotServing);
}

TEST_F(HealthTest, AnEmptyServerIsReadyOnlyIfAllowed) {
  Health allowing(registry_, /*allow_empty=*/true);
  registry_.Poll();
  health_.SetServing();
  allowing.SetServing();
  EXPECT_EQ(health_.Check(""), kNotServing);
  EXPECT_THAT(health_.WhyNotServing(), HasSubstr("is empty"));
  EXPECT_EQ(allowing.Check(""), kServing);
  Add("a", 1);
  EXPECT_EQ(health_.Check(""), kServing);
}

TEST_F(HealthTest, AnUnreadableRepositoryIsGivenAsReason) {
  std::filesystem::permissions(files_.root(), std::filesystem::perms::none);
  {
    const WithoutRights without;
    registry_.Poll();
  }
  std::filesystem::permissions(files_.root(), std::filesystem::perms::owner_all);
  EXPECT_THAT(health_.WhyNotServing(), HasSubstr("repository cannot be read"));
}

TEST_F(HealthTest, NotServingBeforeTheStartAndAfterTheEnd) {
  Add("a", 1);
  EXPECT_EQ(health_.WhyNotServing(), "the models are being loaded");
  EXPECT_EQ(health_.Check(""), kNotServing);
  EXPECT_EQ(health_.Check("model/a"), kServing) << "whoever asks for it is answered";
  EXPECT_TRUE(health_.Serves({"a", 1}));
  EXPECT_FALSE(health_.Serves({"a", 2}));
  EXPECT_FALSE(health_.Serves({"b", 1}));
  health_.SetServing();
  health_.SetFailing({{"a", 1}});
  EXPECT_FALSE(health_.Serves({"a", 1}));
  health_.SetFailing({});
  EXPECT_EQ(health_.Check("model/b"), std::nullopt);
  std::vector<Health::Status> heard, unknown;
  health_.Watch("model/a", [&](Health::Status status) { heard.push_back(status); });
  const uint64_t watch = health_.Watch("model/b", [&](Health::Status status) { unknown.push_back(status); });
  health_.SetNotServing();
  EXPECT_EQ(health_.WhyNotServing(), "the server is draining");
  EXPECT_EQ(health_.Check("model/a"), kNotServing);
  EXPECT_EQ(health_.Check("vitrine.v1.Classifier"), kNotServing);
  EXPECT_FALSE(health_.Serves({"a", 1}));
  health_.SetServing();
  Add("a", 2);
  EXPECT_EQ(health_.Check(""), kNotServing) << "for good";
  EXPECT_EQ(health_.Check("model/a"), kNotServing);
  EXPECT_THAT(heard, ElementsAre(kServing, kNotServing));
  EXPECT_THAT(unknown, ElementsAre(grpc::health::v1::HealthCheckResponse::SERVICE_UNKNOWN));
  health_.Unwatch(watch);
}

TEST_F(HealthTest, AWatchReportsOnlyItsModel) {
  std::vector<Health::Status> heard;
  const uint64_t watch = health_.Watch("model/a", [&](Health::Status status) { heard.push_back(status); });
  Add("b", 1);
  health_.SetServing();
  Add("a", 1);
  Add("a", 2);
  Add("a", 3);
  std::filesystem::remove_all(files_.root() / "b");
  registry_.Poll();
  health_.SetFailing({{"a", 2}});
  EXPECT_EQ(health_.Check("model/a"), kServing) << "the other version computes";
  health_.SetFailing({{"a", 2}, {"a", 3}});
  health_.Unwatch(watch);
  health_.SetFailing({});
  EXPECT_THAT(heard,
              ElementsAre(grpc::health::v1::HealthCheckResponse::SERVICE_UNKNOWN, kNotServing, kServing, kNotServing))
      << "it is known, and not ready, while it is loaded";
}

TEST_F(HealthTest, AHangingDeviceChangesTheServerAndNotTheModels) {
  Add("a", 1);
  health_.SetServing();
  std::vector<Health::Status> heard;
  const uint64_t watch = health_.Watch("", [&](Health::Status status) { heard.push_back(status); });
  health_.SetBroken("an image does not come back");
  EXPECT_EQ(health_.WhyNotServing(), "an image does not come back");
  health_.SetBroken("");
  health_.SetFailing({{"a", 1}});
  EXPECT_THAT(heard, ElementsAre(kServing, kNotServing, kServing, kNotServing));
  health_.Unwatch(watch);
}

TEST_F(HealthTest, AHangingBatchMakesTheServerNotServingUntilItEnds) {
  Add("a", 1);
  health_.SetServing();
  std::vector<Health::Status> heard;
  const uint64_t watch =
      health_.Watch("vitrine.v1.Classifier", [&](Health::Status status) { heard.push_back(status); });
  health_.SetHung("an executor hangs");
  EXPECT_EQ(health_.WhyNotServing(), "an executor hangs");
  EXPECT_EQ(health_.Check(""), kNotServing);
  EXPECT_EQ(health_.Check("model/a"), kServing) << "no fault of the model";
  health_.SetBroken("an image does not come back");
  health_.SetBroken("");
  EXPECT_EQ(health_.Check(""), kNotServing) << "that images come back does not bring the batch back";
  health_.SetHung("");
  EXPECT_EQ(health_.WhyNotServing(), "");
  EXPECT_EQ(health_.Check(""), kServing);
  EXPECT_THAT(heard, ElementsAre(kServing, kNotServing, kServing));
  health_.Unwatch(watch);
}

}  // namespace
}  // namespace vitrine
