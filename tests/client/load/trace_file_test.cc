// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

RequestClass Defaults() {
  RequestClass defaults;
  defaults.model.name = "m";
  return defaults;
}

std::string TraceRefusal(const std::string& text) {
  const auto trace = ParseTrace(text, "", Defaults());
  EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(trace.status().message());
}

TEST(ParseTrace, ReadsCsv) {
  const auto trace = ParseTrace(
      "seconds,model,picture,resolution,priority,deadline\r\n"
      "0,a@3,cat.jpg,32x48,high,50ms\n"
      "0.25,,\"two, \"\"words\"\".png\",,,\n"
      "\n"
      "0.25,a@3,cat.jpg,32x48,high,50ms",
      "folder", Defaults());
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->arrivals.size(), 3u);
  EXPECT_EQ(trace->arrivals[1].due, 250'000'000);
  EXPECT_EQ(trace->arrivals[2].number, 2u);
  ASSERT_EQ(trace->classes.size(), 2u);  // the first and the third line have the same class
  EXPECT_EQ(trace->arrivals[2].request, trace->arrivals[0].request);
  const RequestClass& first = trace->classes[0];
  EXPECT_EQ(first.model.name, "a");
  EXPECT_EQ(first.model.version, 3);
  EXPECT_EQ(first.resolution->height(), 32);
  EXPECT_EQ(first.priority, v1::HIGH);
  EXPECT_EQ(first.deadline, absl::Milliseconds(50));
  EXPECT_EQ(trace->requests[0].image, "folder/cat.jpg");
  const RequestClass& second = trace->classes[1];
  EXPECT_EQ(second.model.name, "m");
  EXPECT_EQ(trace->requests[1].image, "folder/two, \"words\".png");
  EXPECT_EQ(trace->requests[1].request_class, 1u);
  EXPECT_EQ(second.deadline, absl::Seconds(30));
}

TEST(ParseTrace, ReadsJsonLines) {
  const auto trace = ParseTrace(
      "{\"seconds\": 0.5, \"model\": \"a\", \"picture\": \"/x/cat.jpg\"}\n\n"
      "{\"seconds\": 1e0, \"deadline\": \"2s\", \"model\": null}\n",
      "folder", Defaults());
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->arrivals.size(), 2u);
  EXPECT_EQ(trace->arrivals[1].due, 1'000'000'000);
  EXPECT_EQ(trace->requests[0].image, "/x/cat.jpg");
  EXPECT_EQ(trace->classes[1].model.name, "m");
  EXPECT_EQ(trace->classes[1].deadline, absl::Seconds(2));
}

TEST(ParseTrace, SpacesAroundWordsDoNotCount) {
  const auto csv = ParseTrace(" seconds , model \n 0.5 , a \n", "", Defaults());
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(csv->arrivals[0].due, 500'000'000);
  EXPECT_EQ(csv->classes[0].model.name, "a");
  const auto json = ParseTrace("\n  {\"seconds\": 0}\r\n  {\"seconds\": \"0.5\"}", "", Defaults());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->arrivals[1].due, 500'000'000);
}

TEST(ParseTrace, ADefaultFolderStandsForItsImages) {
  const ScratchFolder folder;
  RequestClass defaults = Defaults();
  folder.Write("p/a.jpg", "a");
  folder.Write("p/b.jpg", "b");
  defaults.images = {folder.Path("p")};
  const auto trace = ParseTrace("seconds\n0\n0\n1\n", "", defaults);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->arrivals[0].request, trace->arrivals[2].request) << "the images must alternate";
  EXPECT_EQ(trace->requests[0].image, folder.Path("p/a.jpg"));
  EXPECT_EQ(trace->requests[1].image, folder.Path("p/b.jpg"));
  defaults.images = {folder.Path("none*.jpg")};
  EXPECT_TRUE(ParseTrace("seconds,picture\n0,cat.jpg\n", "x", defaults).ok()) << "the default image must not be needed";
}

TEST(ParseTrace, NamesTheInvalidLine) {
  EXPECT_THAT(TraceRefusal("seconds,modle\n0,a\n"), HasSubstr("line 1: column \"modle\""));
  EXPECT_THAT(TraceRefusal("seconds\n0\nnow\n"), HasSubstr("line 3: seconds \"now\""));
  EXPECT_THAT(TraceRefusal("seconds\n0\n-1\n"), HasSubstr("line 3: seconds \"-1\""));
  EXPECT_THAT(TraceRefusal("seconds\nnan\n"), HasSubstr("line 2: seconds \"nan\""));
  EXPECT_THAT(TraceRefusal("seconds\n1e300\n"), HasSubstr("line 2"));
  EXPECT_THAT(TraceRefusal("seconds\n1\n0.5\n"), HasSubstr("line 3: its seconds are below"));
  EXPECT_THAT(TraceRefusal("seconds,model\n1\n"), HasSubstr("line 2: has 1 fields where the header has 2"));
  EXPECT_THAT(TraceRefusal("seconds,picture\n1,\"a\nb\"\n2,\"open\n"), HasSubstr("line 4"));
  EXPECT_THAT(TraceRefusal("model\na\n"), HasSubstr("line 2: \"seconds\" is missing"));
  EXPECT_THAT(TraceRefusal("seconds,deadline\n1,50\n"), HasSubstr("line 2: deadline \"50\""));
  EXPECT_THAT(TraceRefusal("seconds,resolution\n1,0x5\n"), HasSubstr("line 2"));
  EXPECT_THAT(TraceRefusal("seconds,priority\n1,urgent\n"), HasSubstr("line 2: priority \"urgent\""));
  EXPECT_THAT(TraceRefusal("{\"seconds\": 1}\n{\"seconds\": 2,}\n"), HasSubstr("line 2: is no JSON object"));
  EXPECT_THAT(TraceRefusal("{\"seconds\": 1}\n[1]\n"), HasSubstr("line 2: is no JSON object"));
  EXPECT_THAT(TraceRefusal("{\"seconds\": 1, \"when\": 2}\n"), HasSubstr("line 1: \"when\""));
  EXPECT_THAT(TraceRefusal("{\"seconds\": 1, \"model\": [\"a\"]}\n"), HasSubstr("line 1: \"model\" is neither"));
  EXPECT_THAT(TraceRefusal("{\"seconds\": 1, \"model\": 5}\n"), HasSubstr("line 1: \"model\" must be text"));
  EXPECT_THAT(TraceRefusal("{\"seconds\": 1}\n\n\n{\"seconds\": 0}\n"), HasSubstr("line 4: its seconds are below"));
  EXPECT_THAT(TraceRefusal("seconds\n"), HasSubstr("holds no request"));
  EXPECT_THAT(TraceRefusal(""), HasSubstr("holds no request"));
}

TEST(ParseTrace, ATraceLastsAWeekAtMost) {
  const auto week = ParseTrace("seconds\n0\n604800\n", "", Defaults());
  ASSERT_TRUE(week.ok()) << week.status();
  EXPECT_EQ(week->arrivals[1].due, int64_t{604800} * 1'000'000'000);
  EXPECT_THAT(TraceRefusal("seconds\n0\n604801\n"),
              HasSubstr("line 3: seconds \"604801\" is no number from 0 to a week"));
}

TEST(ParseTrace, DifferentImagesDoNotMakeDifferentClasses) {
  std::string csv = "seconds,model,picture\n";
  for (int i = 0; i < 1500; ++i) csv += absl::StrCat(i, ",m,", i, ".jpg\n");
  const auto trace = ParseTrace(csv, "", Defaults());
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->requests.size(), 1500u);
  EXPECT_EQ(trace->classes.size(), 1u);
  csv = "seconds,deadline\n";
  for (int i = 1; i <= 1001; ++i) csv += absl::StrCat("0,", i, "s\n");
  EXPECT_THAT(TraceRefusal(csv), HasSubstr("line 1002: has a new request class after 1000"));
}

TEST(ReadTrace, NamesTheFile) {
  const ScratchFolder folder;
  const auto missing = ReadTrace(folder.Path("none.csv"), Defaults());
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("none.csv"));
  const auto wrong = ReadTrace(folder.Write("wrong.csv", "seconds\nx\n").string(), Defaults());
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("wrong.csv: line 2"));
  const auto fine = ReadTrace(folder.Write("fine.csv", "seconds,picture\n0,cat.jpg\n").string(), Defaults());
  ASSERT_TRUE(fine.ok());
  EXPECT_EQ(fine->requests[0].image, folder.Path("cat.jpg"));
  for (const std::string& path : {folder.path().string(), std::string("/dev/zero")}) {
    const auto no_file = ReadTrace(path, Defaults());
    EXPECT_EQ(no_file.status().code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(no_file.status().message()), HasSubstr(path + ": not a regular file"));
  }
}

TEST(ReadTrace, RefusesATooLargeFileBeforeReadingIt) {
  const ScratchFolder folder;
  const std::string path = folder.Write("large.csv", "seconds\n0\n").string();
  std::filesystem::resize_file(path, (uintmax_t{2} << 30) + 1);  // sparse, so it uses no disk space
  EXPECT_EQ(ReadTrace(path, Defaults()).status(),
            absl::InvalidArgumentError(path + ": has 2147483649 bytes, more than the 2147483648 allowed"));
}

TEST(ReadTrace, ReadsAFileWithoutALineEnd) {
  const ScratchFolder folder;
  for (const char* text : {"seconds\n0\n12", "{\"seconds\": 0}\n{\"seconds\": 12}"}) {
    const auto trace = ReadTrace(folder.Write("t", text).string(), Defaults());
    ASSERT_TRUE(trace.ok()) << trace.status();
    ASSERT_EQ(trace->arrivals.size(), 2u);
    EXPECT_EQ(trace->arrivals[1].due, 12'000'000'000);
    EXPECT_EQ(trace->arrivals[1].number, 1u);
  }
}

}  // namespace
}  // namespace vitrine
