// SPDX-License-Identifier: Apache-2.0
#include "models/repository/labels.h"

#include <gmock/gmock.h>

#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Labels, AreParsedAsFormatted) {
  const std::vector<std::string> labels = {"crane", "crane", "Zürich, \"old\" town"};
  const auto text = FormatLabels(labels);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "crane\ncrane\nZürich, \"old\" town\n");
  EXPECT_THAT(*ParseLabels(*text), ElementsAre("crane", "crane", "Zürich, \"old\" town"));
  EXPECT_TRUE(ParseLabels("")->empty());
}

TEST(Labels, ErrorsNameTheLine) {
  const auto refused = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(ParseLabels(text), Fails(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("cat\ndo", "line feed");
  refused("cat\n\n", "line 2: the label \"\" is empty");
  refused("cat\r\n", "line 1: the label \"cat\\r\" holds a control character");
  refused("\xff\n", "line 1: the label \"\\xff\" is not UTF-8");
  refused("a\n" + std::string(257, 'x') + "\n", "line 2");
  EXPECT_THAT(FormatLabels({"ok", "two\nlines"}), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
}

TEST(Labels, AcceptTheLongestLabel) {
  const std::string longest(256, 'x');
  EXPECT_THAT(*ParseLabels(longest + "\n"), ElementsAre(longest));
  EXPECT_TRUE(FormatLabels({longest}).ok());
  EXPECT_FALSE(FormatLabels({longest + "x"}).ok());
}

}  // namespace
}  // namespace vitrine
