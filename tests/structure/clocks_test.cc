// SPDX-License-Identifier: Apache-2.0
// All sources of server/ and common/ measure time with the steady clock, and tests wait for events instead of sleeping.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "tests/paths.h"

namespace {

namespace fs = std::filesystem;

// Files that may read the time of day, and why a jump of it does no harm.
const std::map<std::string, std::string> kMayAsk = {
    {"common/http/connection.cc", "certificates end by the time of day"},
    {"server/identity/audit_log.cc", "writes down when something was done"},
    {"server/identity/tls_source.cc", "certificates end by the time of day"},
    {"server/pages/status_reader.cc", "shows a person the time"},
    {"server/pages/status_reader.h", "shows a person the time of the start"},
    {"server/trace/otlp_exporter.cc", "spans are told in the time of day, brought over from the steady clock"},
};

// absl's locks are forbidden too, since their timed waits follow the time of day; use common/mutex.h.
const std::regex kTimeOfDay(R"(absl::Now\(|GetCurrentTimeNanos|system_clock|high_resolution_clock|CLOCK_REALTIME)"
                            R"(|gettimeofday|\btime\((nullptr|NULL|0)\)|absl::(Mutex|CondVar|Notification)\b)");

// Returns the file's text without comments.
std::string CodeOf(const fs::path& path) {
  std::ifstream file(path);
  std::string code;
  for (std::string line; std::getline(file, line);) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

// Rooms within common/, which wait for no time.
const std::regex kRooms("^common/(imaging|data|drawing|charts)/");

TEST(Clocks, NothingIsMeasuredByTheTimeOfDay) {
  std::map<std::string, std::string> unused = kMayAsk;
  int files = 0;
  for (const std::string room : {"server", "common"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(VITRINE_SOURCE) / room)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const std::string name = fs::relative(entry.path(), VITRINE_SOURCE);
      if (std::regex_search(name, kRooms)) continue;
      ++files;
      std::smatch found;
      const std::string code = CodeOf(entry.path());
      if (!std::regex_search(code, found, kTimeOfDay)) continue;
      unused.erase(name);
      EXPECT_TRUE(kMayAsk.contains(name)) << name << " uses " << found.str() << ", which jumps with the wall clock";
    }
  }
  EXPECT_GT(files, 100);
  EXPECT_THAT(unused, testing::IsEmpty()) << "files that no longer ask for the time of day";
}

// The tests that sleep for half a second or longer, and why they must: everybody who runs them waits with them. Other
// tests wait for an event, or use a fake clock.
const std::map<std::string, std::string> kMaySleep = {
    {"tests/client/eval/run_progress_test.cc", "a thread of its own draws twice a second"},
    {"tests/e2e/deadline_test.cc", "admission forgets on the clock of the machine, and is waited for where it refused"},
    {"tests/e2e/program_test.cc", "a process is stopped for longer than its work may take"},
    {"tests/client/lib/servers_test.cc", "names are asked for once a second at most, on the clock of the machine"},
    {"tests/client/load/stall_test.cc", "stops a real server at moments of a load"},
};

const std::regex kSleep(R"(\b(?:SleepFor|sleep_for|sleep|usleep)\((?:(?:absl|std::chrono)::)?(?:(\w+)\()?(\d+))");

double SecondsOf(const std::smatch& sleep) {
  const std::string unit = sleep[1].str(), call = sleep.str();
  const double count = std::stod(sleep[2]);
  if (unit == "Seconds" || unit == "seconds") return count;
  if (unit == "Milliseconds" || unit == "milliseconds") return count / 1e3;
  if (unit == "Microseconds" || unit == "microseconds" || call.starts_with("usleep")) return count / 1e6;
  return unit.empty() ? count : 0;
}

TEST(Clocks, NoTestSleepsForLong) {
  std::map<std::string, std::string> unused = kMaySleep;
  int sleeps = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(VITRINE_SOURCE) / "tests")) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    const std::string name = fs::relative(entry.path(), VITRINE_SOURCE), code = CodeOf(entry.path());
    for (std::sregex_iterator sleep(code.begin(), code.end(), kSleep), end; sleep != end; ++sleep) {
      ++sleeps;
      if (SecondsOf(*sleep) < 0.5) continue;
      unused.erase(name);
      EXPECT_TRUE(kMaySleep.contains(name)) << name << ": " << sleep->str();
    }
  }
  EXPECT_GT(sleeps, 10);
  EXPECT_THAT(unused, testing::IsEmpty()) << "files that no longer sleep";
}

}  // namespace
