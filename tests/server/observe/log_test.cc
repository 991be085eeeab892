// SPDX-License-Identifier: Apache-2.0
#include "server/observe/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "server/observe/stderr_sink.h"
#include "tests/server/logged.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const absl::Time kTime = absl::FromUnixMillis(1'700'000'000'123);

TEST(TextLine, HasTimeLevelMessageAndFields) {
  const LogFields fields = {
      {"model", "xcit"}, {"version", int64_t{3}}, {"ok", true}, {"ms", 1.5}, {"why", "two words"}};
  EXPECT_EQ(TextLine(kTime, spdlog::level::warn, "request", &fields),
            "2023-11-14T22:13:20.123Z warning request model=xcit version=3 ok=true ms=1.5 why=\"two words\"\n");
  EXPECT_EQ(TextLine(kTime, spdlog::level::info, "ready", nullptr), "2023-11-14T22:13:20.123Z info ready\n");
}

TEST(JsonLine, IsAnObjectWithTheFieldsAsKeys) {
  const LogFields fields = {{"model", "xcit"}, {"version", int64_t{3}}, {"ok", false}, {"ms", 1.5}};
  const json line = json::parse(JsonLine(kTime, spdlog::level::err, "request", &fields));
  EXPECT_EQ(line, json({{"time", "2023-11-14T22:13:20.123Z"},
                        {"level", "error"},
                        {"message", "request"},
                        {"model", "xcit"},
                        {"version", 3},
                        {"ok", false},
                        {"ms", 1.5}}));
}

// Texts from hostile clients. If they were logged unchanged, they would forge a line, control a terminal or end the
// JSON.
const std::string kHostile[] = {"a\nb 2023-11-14T22:13:20.123Z error forged",
                                "a\r\nb",
                                "\x1b[2J\x1b[31mred",
                                "\"}{\"",
                                "a\"b\\c",
                                std::string("nul\0byte", 8),
                                "\x7f",
                                "not utf-8: \xff\xfe",
                                "\xe2\x80\xa8"};

TEST(LogLines, HostileTextAddsNoLineOrControlCharacter) {
  for (const std::string& words : kHostile) {
    const LogFields fields = {{"request_id", words}};
    for (const std::string& line :
         {TextLine(kTime, spdlog::level::warn, "m", &fields), JsonLine(kTime, spdlog::level::warn, "m", &fields),
          TextLine(kTime, spdlog::level::warn, words, nullptr), JsonLine(kTime, spdlog::level::warn, words, nullptr)}) {
      EXPECT_EQ(line.back(), '\n');
      EXPECT_EQ(std::count_if(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }), 1)
          << line;
    }
  }
}

TEST(JsonLine, HostileTextIsReadBackUnchanged) {
  for (const std::string& words : kHostile) {
    const LogFields fields = {{"request_id", words}};
    const json line = json::parse(JsonLine(kTime, spdlog::level::warn, "m", &fields));
    EXPECT_EQ(line.size(), 4U);
    if (words.find('\xff') == std::string::npos) {
      EXPECT_EQ(line["request_id"], words);
    }
  }
}

TEST(TextLine, AValueCannotImitateAnotherField) {
  const LogFields fields = {{"id", "x code=OK"}, {"why", "say \"x\" y=\\"}};
  EXPECT_EQ(TextLine(kTime, spdlog::level::warn, "m", &fields),
            "2023-11-14T22:13:20.123Z warning m id=\"x code=OK\" why=\"say \\\"x\\\" y=\\\\\"\n");
}

TEST(TextLine, ControlCharactersBeyondAsciiAndInvalidUtf8AreEscaped) {
  const std::pair<std::string, std::string> kShown[] = {
      {"\xc2\x9b"
       "31m",
       "\\xc2\\x9b31m"},  // U+009B, which terminals may read like ESC [
      {"a\xc2\x85"
       "b",
       "a\\xc2\\x85b"},  // U+0085, the control character NEXT LINE
      {"a\xe2\x80\xa8"
       "b\xe2\x80\xa9",
       "a\\xe2\\x80\\xa8b\\xe2\\x80\\xa9"},
      {"a\x9b\xff", "a\\x9b\\xff"},
      {"cut \xf0\x9f\x98", "cut \\xf0\\x9f\\x98"},
      {"a\r\n\tb\x1f\x7f", "a\\r\\n\\tb\\x1f\\x7f"},
      {" ~\xc2\xa0", " ~\xc2\xa0"},  // characters next to the escaped ranges
      {"\xe2\x80\xa7\xe2\x80\xaa\xe2\x81\xa8\xe3\x80\xa8", "\xe2\x80\xa7\xe2\x80\xaa\xe2\x81\xa8\xe3\x80\xa8"},
      {"Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"}};
  for (const auto& [words, shown] : kShown) {
    EXPECT_EQ(TextLine(kTime, spdlog::level::info, words, nullptr), "2023-11-14T22:13:20.123Z info " + shown + "\n");
  }
}

TEST(JsonLine, NumbersAreRoundedToFourDigits) {
  const LogFields fields = {{"ms", 1.23456}, {"whole", int64_t{12345678}}, {"of", LogJson{R"({"a":[1]})"}}};
  EXPECT_EQ(JsonLine(kTime, spdlog::level::trace, "m", &fields),
            R"({"time":"2023-11-14T22:13:20.123Z","level":"trace","message":"m","ms":1.235,"whole":12345678,)"
            R"("of":{"a":[1]}})"
            "\n");
}

TEST(LogLines, LevelsHaveNames) {
  const std::pair<spdlog::level::level_enum, const char*> kNames[] = {
      {spdlog::level::trace, "trace"},  {spdlog::level::debug, "debug"}, {spdlog::level::info, "info"},
      {spdlog::level::warn, "warning"}, {spdlog::level::err, "error"},   {spdlog::level::critical, "critical"}};
  for (const auto& [level, name] : kNames) {
    EXPECT_EQ(TextLine(kTime, level, "m", nullptr), std::string("2023-11-14T22:13:20.123Z ") + name + " m\n");
  }
}

TEST(StartLogging, WritesLinesToStandardErrorInTheChosenFormat) {
  const auto log = [] {
    Log(LogLevel::kDebug, "of no interest");
    Log(LogLevel::kInfo, "hello", {{"a", int64_t{1}}});
    spdlog::warn("plain");
  };
  const std::string text = Logged("info", "text", log);
  EXPECT_THAT(text, ::testing::MatchesRegex("[^ ]+Z info hello a=1\n[^ ]+Z warning plain\n"));
  const std::string lines = Logged("info", "json", log);
  ASSERT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  const json first = json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first["message"], "hello");
  EXPECT_EQ(first["a"], 1);
  EXPECT_EQ(json::parse(lines.substr(lines.find('\n')))["level"], "warning");
  EXPECT_EQ(History().Lines()[0].text, "plain") << "and the status page";
}

TEST(StartLogging, LogAlwaysWritesAtEveryLevel) {
  const auto log = [] {
    Log(LogLevel::kError, "of no interest");
    LogAlways(LogLevel::kDebug, "audit", {{"who", "ops"}});
    spdlog::error("nor is this");
  };
  EXPECT_THAT(Logged("off", "text", log), ::testing::MatchesRegex("[^ ]+Z debug audit who=ops\n"));
}

TEST(LogHistory, KeepsTheLastWarningsAndErrors) {
  LogHistory history;
  for (int i = 0; i < 120; ++i) history.Add({kTime, spdlog::level::warn, "warning " + std::to_string(i)});
  history.Add({kTime, spdlog::level::info, "of no interest"});
  history.Add({kTime, spdlog::level::critical, std::string(5000, 'x')});
  const std::vector<LogLine> lines = history.Lines();
  ASSERT_EQ(lines.size(), LogHistory::kMaxLines);
  EXPECT_EQ(lines[0].text, std::string(LogHistory::kMaxText, 'x'));
  EXPECT_EQ(lines[1].text, "warning 119");
  EXPECT_EQ(lines.back().text, "warning 71");
  EXPECT_EQ(history.Counts(), (std::pair<uint64_t, uint64_t>(120, 1)));
}

TEST(LogHistory, RecordsEventsOfEveryThreadWithTheirFields) {
  KeepHistory();
  KeepHistory();  // a second call has no effect
  const auto [warnings, errors] = History().Counts();
  std::thread other([] { Log(LogLevel::kWarning, "from another thread", {{"thread", int64_t{2}}}); });
  other.join();
  Log(LogLevel::kError, "from this one", {{"thread", int64_t{1}}});
  EXPECT_EQ(History().Counts(), (std::pair(warnings + 1, errors + 1)));
  EXPECT_EQ(History().Lines()[0].text, "from this one thread=1");
  EXPECT_EQ(History().Lines()[1].text, "from another thread thread=2");
}

// This pipe holds 4096 unread bytes. A write to the full pipe must not block, because requests wait for the log.
TEST(StderrSink, CountsLostLinesAndNeverJoinsTwo) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_GT(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  const auto read_all = [&] {
    std::string text(1 << 20, '\0');
    const ssize_t size = read(ends[0], text.data(), text.size());
    text.resize(std::max<ssize_t>(size, 0));
    return text;
  };
  std::atomic<uint64_t> lost = 0;
  StderrSink sink(ends[1], lost);
  sink.set_pattern("%v");
  const auto log = [&](const std::string& text) { sink.log({"", spdlog::level::info, text}); };
  log("first");
  EXPECT_EQ(lost, 0U);
  EXPECT_EQ(read_all(), "first\n");
  log(std::string(5000, 'x'));
  log("no room");
  EXPECT_EQ(lost, 2U);
  EXPECT_EQ(read_all(), std::string(4096, 'x')) << "what there was room for";
  log("room again");
  EXPECT_EQ(read_all(), "\nroom again\n");
  close(ends[0]);
  std::signal(SIGPIPE, SIG_IGN);
  log("nobody reads");
  EXPECT_EQ(lost, 3U);
  close(ends[1]);
}

}  // namespace
}  // namespace vitrine
