// What is waited for is measured by a clock that does not jump, for every source of server/ and base/.
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

// The files that ask for the time of day, and why none of them is off when it jumps.
const std::map<std::string, std::string> kMayAsk = {
    {"server/identity/audit_log.cc", "writes down when something was done"},
    {"server/identity/tls_credentials.cc", "certificates end by the time of day"},
    {"server/observability/status_reader.cc", "shows a person the time"},
    {"server/observability/status_reader.h", "shows a person the time of the start"},
    {"server/rpc/classify_call.cc", "a deadline of gRPC, brought over to the steady clock on arrival"},
    {"server/rpc/served_port.cc", "a deadline of gRPC, which is brought over at once"},
};

// absl's locks, whose timed waits follow the time of day, are refused with it: server/mutex.h has others.
const std::regex kTimeOfDay(R"(absl::Now\(|GetCurrentTimeNanos|system_clock|high_resolution_clock|CLOCK_REALTIME)"
                            R"(|gettimeofday|\btime\((nullptr|NULL|0)\)|absl::(Mutex|CondVar|Notification)\b)");

// Without what comments say.
std::string CodeOf(const fs::path& path) {
  std::ifstream file(path);
  std::string code;
  for (std::string line; std::getline(file, line);) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

TEST(Clocks, NothingIsMeasuredByTheTimeOfDay) {
  std::map<std::string, std::string> unused = kMayAsk;
  int files = 0;
  for (const std::string room : {"server", "base"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(VITRINE_SOURCE) / room)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      ++files;
      std::smatch found;
      const std::string code = CodeOf(entry.path());
      if (!std::regex_search(code, found, kTimeOfDay)) continue;
      const std::string name = fs::relative(entry.path(), VITRINE_SOURCE);
      unused.erase(name);
      EXPECT_TRUE(kMayAsk.contains(name)) << name << " uses " << found.str() << ", which jumps with the wall clock";
    }
  }
  EXPECT_GT(files, 100);
  EXPECT_THAT(unused, testing::IsEmpty()) << "files that no longer ask for the time of day";
}

}  // namespace
