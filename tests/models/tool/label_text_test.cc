// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/label_text.h"

#include <gmock/gmock.h>

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Labels(const std::string& text) {
  const absl::StatusOr<LabelText> read = ParseLabelText(text);
  EXPECT_TRUE(read.ok()) << read.status() << " for " << text;
  return read.ok() ? read->labels : std::vector<std::string>();
}

std::string Refusal(const std::string& text) {
  return std::string(ParseLabelText(text).status().message());
}

TEST(LabelText, PublishedFormatsGiveThePlainLabels) {
  for (const char* text : {
           "tench\nsea lion\n",
           "  tench \n\tsea lion\n\n",
           "0 tench\n1 sea lion\n",
           "0: tench\n1: sea lion\n",
           "0\ttench\n1\tsea lion",
           "0,tench\n1,sea lion\n",
           "0,\"tench\"\n1,\"sea lion\"\n",
           "index,label\n0,tench\n1,sea lion\n",
           "0. tench\n1. sea lion\n",
           "\"tench\"\n\"sea lion\"\n",
           "'tench',\n'sea lion',\n",
           "0: 'tench'\n1: 'sea lion'\n",
           "{0: 'tench',\n 1: 'sea lion'}\n",
           "{0: \"tench\", 1: 'sea lion',}",
           "['tench', 'sea lion']",
           "[\"tench\", \"sea lion\"]",
           "{\"0\": \"tench\", \"1\": \"sea lion\"}",
       }) {
    EXPECT_THAT(Labels(text), ElementsAre("tench", "sea lion")) << text;
  }
  EXPECT_EQ(ParseLabelText("tench\nsea lion\n")->form, "");
  EXPECT_THAT(ParseLabelText("0 tench\n1 sea lion\n")->form, HasSubstr("number before every label is removed"));
  EXPECT_THAT(ParseLabelText("{0: 'tench'}")->form, HasSubstr("Python"));
}

TEST(LabelText, CommasAndQuotesInLabelsAreKept) {
  EXPECT_THAT(Labels("{0: 'tench, Tinca tinca',\n 1: \"jack-o'-lantern\",\n 2: 'carpenter\\'s kit'}"),
              ElementsAre("tench, Tinca tinca", "jack-o'-lantern", "carpenter's kit"));
  EXPECT_THAT(Labels("0,\"tench, Tinca tinca\"\n1,the \"\"\n"), ElementsAre("tench, Tinca tinca", "the \"\""));
}

TEST(LabelText, NumbersThatArePartOfLabelsAreKept) {
  EXPECT_THAT(Labels("30 km/h\n50 km/h\n"), ElementsAre("30 km/h", "50 km/h"));
  EXPECT_THAT(Labels("0\n1\n"), ElementsAre("0", "1"));
  EXPECT_THAT(Labels("1,000 dollars\n5,000 dollars\n"), ElementsAre("1,000 dollars", "5,000 dollars"));
  EXPECT_THAT(Labels("4:3\n16:9\n"), ElementsAre("4:3", "16:9"));
  EXPECT_THAT(Labels("cat\n0 dog\n"), ElementsAre("cat", "0 dog"));
  EXPECT_THAT(Labels("\"cat\"\ndog\n"), ElementsAre("\"cat\"", "dog"));
  EXPECT_THAT(Labels("[none]\ncat\n"), ElementsAre("[none]", "cat"));
}

// An empty list must not be treated like a missing list, because an import without a list takes ImageNet's labels.
TEST(LabelText, ATextWithoutLabelsIsRefused) {
  for (const char* text : {"", "\n\r\n", "\xEF\xBB\xBF \n"}) EXPECT_THAT(Refusal(text), HasSubstr("no label"));
}

TEST(LabelText, WrongClassNumbersAreRefused) {
  for (const char* text : {"1 cat\n2 dog\n", "1 dog\n0 cat\n", "0,cat\n2,dog\n", "0: cat\n0: dog\n",
                           "{1: 'cat', 0: 'dog'}", "{0: 'cat', 2: 'dog'}"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("a number before every label, but")) << text;
  }
  EXPECT_THAT(Refusal("{0: 'cat',\n1: 'dog'"), HasSubstr("starts like a Python dictionary"));
  EXPECT_THAT(Refusal("{'cat': 0}"), HasSubstr("starts like a Python dictionary"));
  EXPECT_THAT(Refusal("{\"a\": 1}"), HasSubstr("JSON without labels"));
}

}  // namespace
}  // namespace vitrine
