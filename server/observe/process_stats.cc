// SPDX-License-Identifier: Apache-2.0
#include "server/observe/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace vitrine {
namespace {

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns the Unix time at which the machine started.
double BootSeconds() {
  const std::string text = ReadAll("/proc/stat");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    double seconds = 0;
    if (line.substr(0, 6) == "btime " && absl::SimpleAtod(line.substr(6), &seconds)) return seconds;
  }
  return 0;
}

}  // namespace

ProcessStats ReadProcessStats() {
  static const double boot_seconds = BootSeconds();
  static const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  ProcessStats stats;
  // proc(5) numbers the fields. The first field after the program's name in parentheses is number 3, the state.
  const std::string line = ReadAll("/proc/self/stat");
  const size_t name_end = line.rfind(')');
  if (name_end != std::string::npos && name_end + 2 < line.size()) {
    const std::vector<std::string> fields = absl::StrSplit(line.substr(name_end + 2), ' ');
    const auto field = [&](size_t number) {
      double value = 0;
      return fields.size() > number - 3 && absl::SimpleAtod(fields[number - 3], &value) ? value : 0;
    };
    stats.cpu_seconds = (field(14) + field(15)) / ticks;
    stats.threads = field(20);
    stats.start_seconds = boot_seconds + field(22) / ticks;
    stats.virtual_bytes = field(23);
    stats.resident_bytes = field(24) * page;
  }
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_files = static_cast<double>(limit.rlim_cur);
  std::error_code error;
  for (auto i = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error)) {
    stats.open_files += 1;
  }
  if (stats.open_files > 0) stats.open_files -= 1;  // the descriptor of this directory listing
  return stats;
}

}  // namespace vitrine
