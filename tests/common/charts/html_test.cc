// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">&</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
  EXPECT_EQ(EscapeHtml(std::string("a\0b\n", 4)), "a?b\n");
  EXPECT_EQ(EscapeHtml("Ä €"), "Ä €");
}

TEST(DataUri, IsBase64) {
  EXPECT_EQ(DataUri("image/png", "\x89PNG"), "data:image/png;base64,iVBORw==");
}

TEST(HtmlPage, HasItsContentAndNoExternalFile) {
  HtmlPage page("Run <1>", "from \"here\"");
  page.KeyFigures({{"top1", "76 %", "at <end>"}});
  page.Section("A & B", "why");
  page.Table({.columns = {{"name"}, {"count", true}}, .rows = {{"<x>", "1"}}});
  page.Table({.columns = {{""}, {"z"}}, .rows = {}, .caption = "of <its> own"});
  page.Cards(
      {{.images = {{.uri = "data:image/png;base64,AA", .caption = "a \"cat\"", .pixels = true}}, .lines = {"<line>"}}});
  page.Folded("more", "x < y");
  page.Charts({"<svg></svg>"});
  const std::string text = page.Print();
  for (const char* part :
       {"<title>Run &lt;1&gt;</title>", "<p class=\"subtitle\">from &quot;here&quot;</p>",
        "<span>at &lt;end&gt;</span>", "<a href=\"#s1\">A &amp; B</a>", "<h2 id=\"s1\">A &amp; B</h2>",
        "<table aria-labelledby=\"s1\">", "<thead><tr><th scope=\"col\">name</th>",
        "<th scope=\"col\" class=\"right\">count</th>", "<th scope=\"row\">&lt;x&gt;</th><td class=\"right\">1</td>",
        "alt=\"a &quot;cat&quot;\" class=\"pixels\"", "<p>&lt;line&gt;</p>", "<pre>x &lt; y</pre>",
        "<caption>of &lt;its&gt; own</caption>", "<td></td><th scope=\"col\">z</th>", "@media print",
        "@media screen and (prefers-color-scheme: dark)", "<div><svg></svg></div>", "prefers-color-scheme: dark",
        "default-src 'none'"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("<script")),
                          Not(HasSubstr("url("))));
  const std::regex named("class=\"(\\w+)\"");
  for (std::sregex_iterator each(text.begin(), text.end(), named), end; each != end; ++each) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat(".", (*each)[1].str()))) << "a class without a style";
  }
}

}  // namespace
}  // namespace vitrine
