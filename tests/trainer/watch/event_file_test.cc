// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/test_environment.h"
#include "tests/trainer/watch/made_run.h"
#include "trainer/watch/event_record.h"
#include "trainer/watch/tensorboard_event.pb.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

uint32_t Number32(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// Expects the known answers of RFC 3720, B.4, and the check value of the CRC catalogue.
TEST(Crc32c, MatchesThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(EventRecord, HasLengthAndDataWithChecksums) {
  const std::string record = EventRecord("123456789");
  ASSERT_EQ(record.size(), 8u + 4 + 9 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 9), "123456789");
  // The checksum is the masked CRC of the data: rotate_right(0xe3069283, 15) + 0xa282ead8.
  EXPECT_EQ(Number32(record, 21), 0xc78ab0e5u);
  const uint32_t crc = Crc32c(record.substr(0, 8));
  EXPECT_EQ(Number32(record, 8), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

std::vector<tensorboard::Event> EventsOf(const std::filesystem::path& file) {
  const std::string bytes = ReadFile(file);
  std::vector<tensorboard::Event> events;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = Number32(bytes, at);
    EXPECT_LE(at + length + 16, bytes.size()) << "a torn record";
    const std::string data = bytes.substr(at + 12, length);
    EXPECT_EQ(bytes.substr(at, length + 16), EventRecord(data));
    EXPECT_TRUE(events.emplace_back().ParseFromString(data));
    at += length + 16;
  }
  return events;
}

std::map<std::string, float> ScalarsOf(const tensorboard::Event& event) {
  std::map<std::string, float> scalars;
  for (const auto& value : event.summary().value()) scalars[value.tag()] = value.simple_value();
  return scalars;
}

std::unique_ptr<EventFile> OpenFile(const std::filesystem::path& folder) {
  auto file = EventFile::Open({.folder = folder, .recipe = "name: \"made\"\nseed: 1\n"});
  EXPECT_TRUE(file.ok()) << file.status();
  return std::move(file).value();
}

TEST(EventFile, HasVersionRecipeStepsAndScoresDuringTheRun) {
  const ScratchFolder folder;
  const auto file = OpenFile(folder.path() / "events");
  Feed(0, 8, *file);
  const std::vector<tensorboard::Event> events = EventsOf(file->path());  // while the file is still open
  ASSERT_EQ(events.size(), 2u + 8 + 2);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[0].wall_time(), 1.6e9);
  const auto& recipe = events[1].summary().value(0);
  EXPECT_EQ(recipe.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(recipe.tensor().string_val(0), "    name: \"made\"\n    seed: 1\n    ");
  const StepReport made = MadeStep(3);
  EXPECT_EQ(events[4].step(), 3);
  EXPECT_EQ(ScalarsOf(events[4]),
            (std::map<std::string, float>{{"train/loss", static_cast<float>(made.loss)},
                                          {"train/learning_rate", static_cast<float>(made.lr)},
                                          {"train/gradient_norm", static_cast<float>(made.gradient_norm)},
                                          {"train/accuracy", static_cast<float>(made.epoch_accuracy)},
                                          {"train/samples_per_second", 100.04f},
                                          {"train/data_wait_share", 0.25f}}));
  EXPECT_EQ(ScalarsOf(events[8]),
            (std::map<std::string, float>{{"validation/top1", 6.0f / 17}, {"validation/loss", 2.0f / 6}}));
}

TEST(EventFile, AResumedRunInvalidatesLaterEvents) {
  const ScratchFolder folder;
  const auto first = OpenFile(folder.path());
  const auto second = OpenFile(folder.path());  // within the same second
  second->OnStart({.step = 5, .total_steps = kMadeSteps, .measures_again = false});
  EXPECT_LT(first->path().filename(), second->path().filename());
  const std::vector<tensorboard::Event> events = EventsOf(second->path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].step(), 6);
  EXPECT_EQ(events[2].session_log().status(), tensorboard::SessionLog::START);
}

TEST(EventFile, OmitsMissingValues) {
  const ScratchFolder folder;
  const auto file = OpenFile(folder.path());
  StepReport report = MadeStep(1);
  report.gradient_norm = 0;
  report.epoch_accuracy = std::numeric_limits<double>::quiet_NaN();
  file->OnStep(report);
  EXPECT_THAT(ScalarsOf(EventsOf(file->path()).back()),
              AllOf(Contains(Key("train/loss")), Not(Contains(Key("train/accuracy"))),
                    Not(Contains(Key("train/gradient_norm")))));
}

TEST(EventFile, ALongRunKeepsAboutTenThousandSteps) {
  const ScratchFolder folder;
  const auto file = OpenFile(folder.path());
  StepReport report = MadeStep(1);
  report.total_steps = 1000005;
  for (report.step = 999701; report.step <= report.total_steps; ++report.step) file->OnStep(report);
  std::vector<int64_t> steps;
  for (const tensorboard::Event& event : EventsOf(file->path())) steps.push_back(event.step());
  EXPECT_THAT(steps, testing::ElementsAre(0, 0, 999800, 999900, 1000000, 1000005));
}

// Uses TensorBoard's own reader.
TEST(EventFile, IsReadableByTensorBoard) {
  const std::string environment = TestEnvironment();
  if (environment.empty()) GTEST_SKIP() << "there is no TensorBoard: pip reaches no package index";
  const ScratchFolder folder;
  Feed(0, 9, *OpenFile(folder.path()));
  Feed(5, kMadeSteps, *OpenFile(folder.path()));
  const std::string command = environment + "/bin/python " VITRINE_SOURCE "/tests/trainer/watch/read_events.py " +
                              folder.path().string() + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string said;
  for (int c; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << said;
  EXPECT_THAT(said, HasSubstr("train/loss 1 2 3 4 5 6 7 8 9 10 11 12\n"));
  EXPECT_THAT(said, HasSubstr("validation/top1 6\n")) << "once, though both files have it";
  EXPECT_THAT(said, HasSubstr("test/loss 8 12\n"));
  char loss[64];
  std::snprintf(loss, sizeof(loss), "last loss %.9g\n", static_cast<float>(MadeStep(12).loss));
  EXPECT_THAT(said, HasSubstr(loss));
  EXPECT_THAT(said, HasSubstr("recipe     name: \"made\"\n"));
}

}  // namespace
}  // namespace vitrine
