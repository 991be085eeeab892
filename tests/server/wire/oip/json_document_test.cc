// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/json_document.h"

#include <gtest/gtest.h>

#include <string>

namespace vitrine {
namespace {

TEST(JsonDocument, EqualsTheResultOfTheLibrary) {
  for (const char* text :
       {R"({"a":[1,-2,3.5,true,null,"x",[],{}],"b":{"c":{"d":[[0],[1,[2]]]}}})", "[]", "7", R"("s")", "null",
        R"({"a":[1,2],"a":{"b":[3]},"a":[4]})", R"({"big":18446744073709551615,"e":1e-3})"}) {
    JsonDocument document;
    ASSERT_TRUE(document.Parse(text)) << text;
    EXPECT_EQ(document.root, nlohmann::json::parse(text)) << text;
    EXPECT_EQ(document.Text(), nlohmann::json::parse(text).dump());
  }
}

TEST(JsonDocument, RefusesInvalidJson) {
  for (const char* text : {"", "{", "[1,", "[1]]", R"({"a")", R"({"a":})", "nul", "1e999999", "[1] x"}) {
    JsonDocument document;
    EXPECT_FALSE(document.Parse(text)) << text;
  }
}

TEST(JsonDocument, LimitsTheDepth) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  JsonDocument document;
  EXPECT_TRUE(document.Parse(nested(JsonDocument::kMaxDepth)));
  EXPECT_FALSE(document.Parse(nested(JsonDocument::kMaxDepth + 1)));
  EXPECT_FALSE(document.Parse(std::string(1000000, '[')));
}

}  // namespace
}  // namespace vitrine
