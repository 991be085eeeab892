// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/data_table.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

DataTable Example() {
  DataTable table({{"name", "NAME"}, {"count", "COUNT", true}, {"hidden", ""}});
  table.Add({Cell::Text("a, \"b\""), Cell::Count(12345), Cell::Text("x")});
  table.Add({Cell::Text("c"), Cell::Nothing(), Cell::Nothing()});
  return table;
}

TEST(Tables, HaveThreeForms) {
  EXPECT_EQ(Example().Print(OutputFormat::kTable),
            "NAME     COUNT\n"
            "a, \"b\"  12,345\n"
            "c            -\n");
  EXPECT_EQ(Example().Print(OutputFormat::kCsv),
            "name,count,hidden\n"
            "\"a, \"\"b\"\"\",12345,x\n"
            "c,,\n");
  const nlohmann::ordered_json json = Example().AsJson();
  EXPECT_EQ(json[0]["count"], 12345);
  EXPECT_TRUE(json[1]["count"].is_null());
  EXPECT_EQ(json[0]["name"], "a, \"b\"");
}

TEST(Tables, ReplaceInvalidUtf8InJson) {
  DataTable table({{"name", "NAME"}, {"count", "COUNT", true}});
  table.Add({Cell::Text("a\xff"), Cell::Count(1)});
  EXPECT_EQ(table.Print(OutputFormat::kJson), "[\n  {\n    \"name\": \"a\uFFFD\",\n    \"count\": 1\n  }\n]\n");
}

TEST(Tables, AreMarkdownWithoutHiddenColumns) {
  DataTable table({{"name", "NAME"}, {"count", "COUNT  ", true}, {"hidden", ""}});
  table.Add({Cell::Text("a|b"), Cell::Count(12345), Cell::Text("x")});
  EXPECT_EQ(table.AsMarkdown(),
            "| name | count |\n"
            "|---|---:|\n"
            "| a\\|b | 12,345 |\n");
}

}  // namespace
}  // namespace vitrine
