// SPDX-License-Identifier: Apache-2.0
// Tests the responses of the REST paths, without a connection.
#include "server/wire/oip/http_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/server/http_asked.h"
#include "tests/server/registry/fake_repository.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class OipHttpFrontTest : public ::testing::Test {
 protected:
  explicit OipHttpFrontTest(int keep_versions = 1) : keep_versions_(keep_versions) {
    files_.Add("m", 1);
    files_.Add("other", 1);
    registry_.Poll();
    health_.SetServing();
  }

  HttpResponse Ask(const std::string& path) { return testing::AnswerOf(front_.Begin(testing::HeadOf("GET", path))); }

  const int keep_versions_;
  FakeRepository files_;
  FakeClock clock_;
  Metrics metrics_{"1"};
  Registry registry_{{.root = files_.root(), .keep_versions = keep_versions_, .serving_config = "", .admin_state = ""},
                     [this](const VersionId& id) -> absl::StatusOr<ModelHandle> {
                       std::shared_ptr<LoadedModel> loaded = MakeLoaded(id.model, id.version, SmallNativeConfig());
                       loaded->metrics = metrics_.ForModel(id.model);
                       return loaded;
                     },
                     clock_};
  Health health_{registry_};
  Admission admission_{{}, clock_};
  Scheduler scheduler_{{.max_batch_images = 1}, clock_, /*sweep=*/false};
  ClassifyService service_{registry_, admission_, scheduler_, metrics_, clock_};
  const std::unique_ptr<Identity> identity_ = *Identity::Open({});
  OipHttpFront front_{service_, registry_, *identity_, health_};
};

TEST_F(OipHttpFrontTest, AModelHasOnlyItsPaths) {
  EXPECT_THAT(Ask("/v2/models/m").body, HasSubstr("\"platform\""));
  EXPECT_THAT(Ask("/v2/models/m/config").body, HasSubstr("\"max_batch_size\""));
  EXPECT_THAT(Ask("/v2/models/m/stats").body, HasSubstr("\"model_stats\""));
  EXPECT_EQ(Ask("/v2/models/m/statistics").code, 404);
  EXPECT_EQ(Ask("/v2/models/m/infer").code, 405) << "the path needs POST";
}

TEST_F(OipHttpFrontTest, StatisticsOfAllModelsHaveAPath) {
  EXPECT_THAT(Ask("/v2/models/stats").body, AllOf(HasSubstr(R"("name":"m")"), HasSubstr(R"("name":"other")")));
}

class OipHttpFrontOfTwoVersionsTest : public OipHttpFrontTest {
 protected:
  OipHttpFrontOfTwoVersionsTest() : OipHttpFrontTest(2) {
    files_.Add("m", 2);
    registry_.Poll();
  }
  nlohmann::json StatisticsAt(const std::string& path) { return nlohmann::json::parse(Ask(path).body)["model_stats"]; }
};

TEST_F(OipHttpFrontOfTwoVersionsTest, AModelHasOneEntryOfStatistics) {
  const nlohmann::json own = StatisticsAt("/v2/models/m/stats");
  ASSERT_EQ(own.size(), 1u) << own;
  EXPECT_EQ(own[0]["version"], "2");
  EXPECT_EQ(StatisticsAt("/v2/models/m:tensor/stats").size(), 1u);
  EXPECT_EQ(StatisticsAt("/v2/models/stats").size(), 2u) << "the models are m and other";
  EXPECT_EQ(StatisticsAt("/v2/models/m/versions/1/stats")[0]["version"], "1");
  EXPECT_EQ(Ask("/v2/models/m/versions/stable/stats").code, 400);
}

TEST_F(OipHttpFrontTest, ErrorsListTheMethodsOfAPathOrNameTheExtension) {
  const auto ask = [&](const char* method, const std::string& path) {
    return testing::AnswerOf(front_.Begin(testing::HeadOf(method, path)));
  };
  for (const char* path : {"/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/stats", "/v2/models/m",
                           "/v2/models/m/config", "/v2/models/m/versions/1", "/v2/models/m/versions/1/ready"}) {
    for (const char* method : {"POST", "PUT", "DELETE"}) {
      const HttpResponse refusal = ask(method, path);
      EXPECT_EQ(refusal.code, 405) << method << " " << path;
      EXPECT_THAT(refusal.headers, Contains(Pair("Allow", "GET, HEAD"))) << path;
    }
  }
  EXPECT_THAT(ask("GET", "/v2/repository/index").headers, Contains(Pair("Allow", "POST")));
  EXPECT_THAT(ask("DELETE", "/v2/models/m/versions/1/infer").headers, Contains(Pair("Allow", "POST")));
  for (const char* path :
       {"/v2/trace/setting", "/v2/models/m/trace/setting", "/v2/logging", "/v2/systemsharedmemory/status",
        "/v2/cudasharedmemory/region/r/register", "/v2/systemsharedmemory/region/r/unregister"}) {
    EXPECT_EQ(Ask(path).code, 501) << path;
    EXPECT_THAT(ask("POST", path).body, HasSubstr("extension")) << path;
  }
  for (const char* path : {"/v2/models", "/v2/health", "/v2/models/m/versions/1/infer/x", "/v3", "/", "/api/logging"}) {
    EXPECT_EQ(Ask(path).code, 404) << path;
  }
}

TEST_F(OipHttpFrontTest, AViewHasOneInputAndOneOutputTensor) {
  for (const char* view : {"tensor", "tensor-inception", "tensor-vgg"}) {
    const std::string path = std::string("/v2/models/m:") + view;
    EXPECT_EQ(Ask(path).body, std::string(R"({"inputs":[{"datatype":"FP32","name":"image","shape":[-1,3,16,16]}],)") +
                                  R"("name":"m:)" + view +
                                  R"(","outputs":[{"datatype":"FP32","name":"probabilities",)" +
                                  R"("shape":[-1,5]}],"platform":"vitrine","versions":["1"]})");
    const std::string config = Ask(path + "/versions/1/config").body;
    EXPECT_THAT(config, HasSubstr(std::string(R"("name":"m:)") + view));
    EXPECT_THAT(config, HasSubstr(R"("input":[{"data_type":"TYPE_FP32","dims":[3,16,16],"format":"FORMAT_NCHW")"));
    EXPECT_EQ(Ask(path + "/ready").code, 200);
    EXPECT_THAT(Ask(path + "/stats").body, HasSubstr(std::string(R"("name":"m:)") + view));
  }
  EXPECT_EQ(Ask("/v2/models/m:pixels").code, 404);
  EXPECT_THAT(Ask("/v2/models/m:pixels/config").body, HasSubstr("NAME:tensor-inception"));
  EXPECT_EQ(Ask("/v2/models/nobody:tensor").code, 404);
}

TEST_F(OipHttpFrontTest, LoadsAreRefusedWithTheRightFlag) {
  EXPECT_THAT(Ask("/v2").body, AllOf(HasSubstr("\"classification\""), Not(HasSubstr("model_repository"))));
  for (const char* verb : {"load", "unload"}) {
    const HttpResponse refusal =
        testing::AnswerOf(front_.Begin(testing::HeadOf("POST", std::string("/v2/repository/models/m/") + verb)));
    EXPECT_EQ(refusal.code, 403);
    EXPECT_THAT(refusal.body, HasSubstr("--admin"));
  }
}

TEST_F(OipHttpFrontTest, AFailingModelIsNotReady) {
  for (const char* path : {"/v2/models/m/ready", "/v2/models/m/versions/1/ready"}) {
    EXPECT_EQ(Ask(path).code, 200) << path;
    health_.SetFailing({{"m", 1}});
    const HttpResponse failing = Ask(path);
    EXPECT_EQ(failing.code, 400) << path;
    EXPECT_THAT(failing.body, HasSubstr("\"ready\":false"));
    EXPECT_EQ(Ask("/v2/models/other/ready").code, 200);
    EXPECT_EQ(Ask("/v2/health/ready").code, 200) << "the other model still serves";
    health_.SetFailing({});
    EXPECT_EQ(Ask(path).code, 200) << path << ": the model computes again";
  }
  EXPECT_EQ(Ask("/v2/models/nobody/ready").code, 404);
  health_.SetNotServing();
  EXPECT_EQ(Ask("/v2/models/m/ready").code, 400) << "the server is draining";
  EXPECT_EQ(Ask("/v2/health/ready").code, 400) << "the server is draining";
}

}  // namespace
}  // namespace vitrine
