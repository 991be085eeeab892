// SPDX-License-Identifier: Apache-2.0
// Tests that server/ and common/ measure time with the steady clock only.
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

// Files that may use the wall clock, each with the reason why a change of the wall clock does no harm.
const std::map<std::string, std::string> kMayAsk = {
    {"common/http/connection.cc", "certificates expire at a wall-clock time"},
    {"common/file/process_lock.cc", "reports since when a lock is held"},
    {"server/identity/audit_log.cc", "records when an action happened"},
    {"server/identity/tls_source.cc", "certificates expire at a wall-clock time"},
    {"server/pages/status_reader.cc", "shows the current time"},
    {"server/pages/status_reader.h", "shows the start time"},
    {"server/trace/otlp_exporter.cc", "spans have wall-clock times, which are computed from steady ones"},
};

// absl's locks are also forbidden, because their timed waits follow the wall clock. common/mutex.h replaces them.
const std::regex kTimeOfDay(R"(absl::Now\(|GetCurrentTimeNanos|system_clock|high_resolution_clock|CLOCK_REALTIME)"
                            R"(|gettimeofday|\btime\((nullptr|NULL|0)\)|absl::(Mutex|CondVar|Notification)\b)");

// Returns the text of the file without comments.
std::string CodeOf(const fs::path& path) {
  std::ifstream file(path);
  std::string code;
  for (std::string line; std::getline(file, line);) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

// Folders of common/ that are not checked, because their code has no timed waits.
const std::regex kRooms("^common/(imaging|data|drawing|charts)/");

TEST(Clocks, ServerAndCommonUseTheSteadyClock) {
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
      EXPECT_TRUE(kMayAsk.contains(name))
          << name << " uses " << found.str() << ", which changes when the system time is set";
    }
  }
  EXPECT_GT(files, 100);
  EXPECT_THAT(unused, testing::IsEmpty()) << "these files no longer use the wall clock";
}

}  // namespace
