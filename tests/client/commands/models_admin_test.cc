// SPDX-License-Identifier: Apache-2.0
// Tests the arguments of the commands that change how models are served.
#include "client/commands/models/models_admin.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string RefusalOfPolicy(const std::vector<std::string>& words) {
  const absl::Status status = ParseVersionPolicy(words).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ParseVersionPolicy, AcceptsThreeForms) {
  EXPECT_TRUE(ParseVersionPolicy({"all"})->all());
  EXPECT_EQ(ParseVersionPolicy({"latest"})->latest(), 1);
  EXPECT_EQ(ParseVersionPolicy({"latest", "1"})->latest(), 1);
  EXPECT_EQ(ParseVersionPolicy({"latest", "100"})->latest(), 100);
  EXPECT_THAT(ParseVersionPolicy({"specific", "1", "4"})->specific().versions(), ElementsAre(1, 4));
}

TEST(ParseVersionPolicy, DescribesTheFault) {
  for (const char* number : {"0", "101", "-1", "many", "2.5"}) {
    EXPECT_THAT(RefusalOfPolicy({"latest", number}), HasSubstr("1 to 100, not \"" + std::string(number)));
  }
  for (const char* version : {"0", "-3", "v2", ""}) {
    EXPECT_THAT(RefusalOfPolicy({"specific", "2", version}), HasSubstr("\" is no version")) << version;
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"all", "2"}, {"latest", "2", "3"}, {"specific"}, {"newest"}}) {
    EXPECT_THAT(RefusalOfPolicy(words), HasSubstr("latest [N], all, specific VERSION"));
  }
}

TEST(ParseTrafficShare, AcceptsPercentagesAboveZero) {
  EXPECT_EQ(ParseTrafficShare("4=5")->version(), 4);
  EXPECT_EQ(ParseTrafficShare("4=5")->percent(), 5);
  EXPECT_EQ(ParseTrafficShare("4=2.5%")->percent(), 2.5);
  EXPECT_EQ(ParseTrafficShare("4=100")->percent(), 100);
  for (const char* wrong : {"4", "4=", "=5", "4=0", "4=-1", "4=100.1", "4=nan", "0=5", "x=5", "4=5=6"}) {
    EXPECT_EQ(ParseTrafficShare(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ServingText, MarksSettingsThatAreNotInForce) {
  v1::ModelServingStatus serving;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(R"pb(
                                                      model: "tiny"
                                                      serving {
                                                        version_policy { specific { versions: [ 4, 8 ] } }
                                                        labels { label: "prod" version: 4 }
                                                        labels { label: "stable" version: 1 }
                                                        labels { label: "next" version: 7 }
                                                        traffic { version: 9 percent: 5 }
                                                      }
                                                      stable_version: 4
                                                      versions { version: 1 state: FAILED }
                                                      versions { version: 4 state: READY traffic_percent: 100 })pb",
                                                    &serving));
  EXPECT_THAT(ServingText(serving),
              HasSubstr("  label      stable of version 1, not in force: it is failed; version 4 answers\n"
                        "  label      next of version 7, not in force: it is absent\n"
                        "  traffic    5 % to version 9, not in force: it is absent\n"
                        "  policy     version 8, not in force: it is absent\n"));
}

}  // namespace
}  // namespace vitrine
