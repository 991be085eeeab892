// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>

#include "absl/time/clock.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);

class JobsTest : public ::testing::Test {
 protected:
  Job Shell(const std::string& script) const { return {{"/bin/sh", "-c", script}, Log()}; }
  std::filesystem::path Log() const { return folder_.path() / "log.txt"; }
  // Returns true once the log contains the text; false after a timeout.
  bool Says(const std::string& text) const {
    for (const absl::Time end = absl::Now() + kLong; absl::Now() < end; absl::SleepFor(absl::Milliseconds(10))) {
      if (ReadFile(Log()).find(text) != std::string::npos) return true;
    }
    return false;
  }

  ScratchFolder folder_;
};

TEST_F(JobsTest, TheEndOfEachJobIsReported) {
  std::map<size_t, std::string> ends;
  size_t running = 0, most = 0;
  JobOptions options;
  options.at_once = 2;
  options.started = [&](size_t) { most = std::max(most, ++running); };
  options.ended = [&](const JobEnd& end) {
    --running;
    ends[end.job] = EndInWords(end.status);
    return absl::OkStatus();
  };
  const absl::Status status = RunJobs({Shell("echo to out; echo to err >&2"),
                                       Shell("exit 3"),
                                       Shell("kill -KILL $$"),
                                       {{"/no/such/program"}, Log()},
                                       Shell("exit 0")},
                                      options);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(ends, (std::map<size_t, std::string>{{0, "exit code 0"},
                                                 {1, "exit code 3"},
                                                 {2, "killed by signal 9 (Killed)"},
                                                 {3, "exit code 127"},
                                                 {4, "exit code 0"}}));
  EXPECT_THAT(ReadFile(Log()), AllOf(HasSubstr("to out"), HasSubstr("to err"),
                                     HasSubstr("/no/such/program: the program cannot be started: No such file")));
}

TEST_F(JobsTest, ASignalIsForwardedOnceAndNoJobStartsAfterIt) {
  int asked = 0, started = 0;
  JobOptions options;
  options.started = [&](size_t) { ++started; };
  options.stop = [&] {
    if (asked > 0 || !Says("ready")) return 0;
    ++asked;
    return SIGINT;
  };
  // RunJobs must forward the signal only once.
  const absl::Status status = RunJobs(
      {Shell("trap 'echo told; exit 5' INT; echo ready; while :; do sleep 0.01; done"), Shell("echo never")}, options);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(started, 1);
  EXPECT_EQ(ReadFile(Log()), "ready\ntold\n");
}

TEST_F(JobsTest, AnErrorOfTheListenerEndsTheOtherJobs) {
  JobOptions options;
  options.at_once = 2;
  options.ended = [&](const JobEnd& end) {
    return end.job == 0 ? absl::InvalidArgumentError("enough") : absl::OkStatus();
  };
  const absl::Status status = RunJobs({Shell("exit 0"), Shell("while :; do sleep 0.01; done")}, options);
  EXPECT_EQ(status.message(), "enough");
}

}  // namespace
}  // namespace vitrine
