#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "server/observability/status.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kEvil[] = "<script>alert('x')</script>\"><img src=x onerror=\"y\">&";

// Every text of a stranger in every place.
ServerStatus Hostile() {
  ServerStatus status;
  status.now = status.started = absl::FromUnixSeconds(1'700'000'000);
  status.not_ready = status.repository_fault = status.version = status.revision = status.device = kEvil;
  status.versions = {{.model = kEvil, .version = 1, .state = kEvil, .reason = kEvil, .labels = {kEvil}},
                     {.model = kEvil, .version = 2, .state = "FAILED", .reason = kEvil}};
  status.models = {{.name = kEvil, .shed_per_second = 1, .rollbacks = 1}};
  status.certificates = {{kEvil, status.now}};
  status.log = {{status.now, spdlog::level::err, kEvil}};
  status.flags = {{kEvil, kEvil}};
  return status;
}

TEST(StatusHtml, NothingOfAStrangerIsMarkup) {
  const std::string html = StatusHtml(Hostile());
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<img")), Not(HasSubstr("onerror=\""))));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&gt;&lt;img src=x"));
  // What is left of quotes and brackets is ours: as many opened as closed.
  EXPECT_EQ(std::count(html.begin(), html.end(), '<'), std::count(html.begin(), html.end(), '>'));
}

TEST(StatusHtml, NeedsNothingFromElsewhere) {
  const std::string html = StatusHtml(Hostile());
  EXPECT_THAT(html, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("<link")),
                          Not(HasSubstr("url(")), Not(HasSubstr("@import"))));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

TEST(StatusHtml, TheVerdictStandsFirst) {
  ServerStatus status;
  status.not_ready = "every version was refused";
  status.versions = {{.model = "m", .version = 7, .state = "FAILED", .reason = "cut"}};
  const std::string html = StatusHtml(status);
  const size_t verdict = html.find("<h1 class=\"down\">Not well: requests are not served: every version was refused");
  ASSERT_NE(verdict, std::string::npos) << html;
  EXPECT_LT(verdict, html.find("<h2>"));
  EXPECT_THAT(html, HasSubstr("m version 7 was refused: cut; no version of this model serves</li>"));
}

TEST(StatusJson, SaysTheSameToPrograms) {
  const json page = json::parse(StatusJson(Hostile()));
  EXPECT_EQ(page["severity"], "down");
  EXPECT_EQ(page["ready"], false);
  EXPECT_EQ(page["not_ready"], kEvil);
  EXPECT_EQ(page["versions"][1]["reason"], kEvil);
  EXPECT_EQ(page["log"][0]["level"], "error");
  EXPECT_EQ(page["flags"][kEvil], kEvil);
  EXPECT_GE(page["problems"].size(), 4U);
}

TEST(StatusJson, SurvivesWhatIsNoUtf8) {
  ServerStatus status;
  status.log = {{status.now, spdlog::level::warn, "\xff\xfe"}};
  EXPECT_TRUE(json::accept(StatusJson(status)));
}

}  // namespace
}  // namespace vitrine
