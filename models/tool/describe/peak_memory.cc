// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/peak_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns the size `name` of /proc/self/status in bytes; 0 if it is missing.
int64_t StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  int64_t kibibytes = 0;
  for (std::string word; status >> word;) {
    if (word == name && status >> kibibytes) break;
  }
  return kibibytes * 1024;
}

}  // namespace

absl::StatusOr<int64_t> PeakBytesOf(const std::function<absl::Status()>& work) {
  malloc_trim(0);  // otherwise `work` could reuse freed memory that is still resident, and the peak would not rise
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5";  // sets the peak to the present size
  reset.close();
  if (!reset) return absl::UnimplementedError("this system cannot measure peak memory: no /proc/self/clear_refs");
  const int64_t before = StatusBytes("VmRSS:");
  RETURN_IF_ERROR(work());
  return std::max<int64_t>(0, StatusBytes("VmHWM:") - before);
}

}  // namespace vitrine
