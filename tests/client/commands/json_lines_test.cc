// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/json_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/data/file_names.h"

namespace vitrine {
namespace {

TEST(AnswerLine, NamesThatAreNotUtf8CanBeRecovered) {
  v1::ClassifyResponse answer;
  answer.add_attention();
  answer.add_features();
  const std::string name = "a\xff\"\n\\.jpg";
  const nlohmann::json line =
      nlohmann::json::parse(AnswerLine(answer, {.image = name, .attention = {name}, .features = name}));
  EXPECT_EQ(line["image"], "a\\xff\"\\x0a\\x5c.jpg");
  EXPECT_EQ(UnescapedBytes(line["image"].get<std::string>()), name);
  EXPECT_EQ(line["attention"][0]["file"], line["image"]);
  EXPECT_EQ(line["features"][0]["file"], line["image"]);
  EXPECT_EQ(nlohmann::json::parse(FailureLine(name, absl::NotFoundError("x"))),
            nlohmann::json({{"image", line["image"]}, {"error", "x"}, {"code", "NOT_FOUND"}}));
}

TEST(ModelLine, UsesTheLicenceOfTheDownloadIfThereIsNoOther) {
  v1::ModelVersion version;
  const auto licence = [&] { return nlohmann::json::parse(ModelLine(version))["licence"]; };
  EXPECT_EQ(licence(), "");
  version.mutable_provenance()->mutable_origin()->set_licence("mit");
  EXPECT_EQ(licence(), "mit");
  version.mutable_provenance()->set_licence("Apache-2.0");
  EXPECT_EQ(licence(), "Apache-2.0");
}

}  // namespace
}  // namespace vitrine
