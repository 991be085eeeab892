// SPDX-License-Identifier: Apache-2.0
#include "common/machine/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/machine/core_list.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Version 1 of control groups represents "no memory limit" by a number close to 2^63, so values from kNoLimit on mean
// no limit.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::vector<std::string> Lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::optional<std::string> FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(line));
}

std::optional<int64_t> Number(const fs::path& path) {
  const std::optional<std::string> text = FirstLine(path);
  int64_t value = 0;
  return text.has_value() && absl::SimpleAtoi(*text, &value) ? std::optional(value) : std::nullopt;
}

bool Lists(const std::string& comma_separated, std::string_view word) {
  const std::vector<std::string> words = absl::StrSplit(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Folders of the process's own group and its parents, up to the mount point. Empty if the hierarchy does not exist.
using Hierarchy = std::vector<fs::path>;

// Returns the control group of this process. If `controller` is empty, this is the group in the hierarchy of version 2,
// otherwise the group in this controller's hierarchy of version 1.
std::optional<std::string> GroupOf(const fs::path& root, std::string_view controller) {
  for (const std::string& line : Lines(root / "proc/self/cgroup")) {
    // format: id:controllers:path
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const bool fits = controller.empty() ? fields[0] == "0" && fields[1].empty() : Lists(fields[1], controller);
    if (fits) return fields[2];
  }
  return std::nullopt;
}

Hierarchy Find(const fs::path& root, std::string_view controller) {
  const std::optional<std::string> group = GroupOf(root, controller);
  if (!group.has_value()) return {};
  for (const std::string& line : Lines(root / "proc/self/mountinfo")) {
    // format: id parent device root mount-point options [optional...] - type source super-options
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> left = absl::StrSplit(halves[0], ' '), right = absl::StrSplit(halves[1], ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const bool fits = controller.empty() ? right[0] == "cgroup2" : right[0] == "cgroup" && Lists(right[2], controller);
    if (!fits) continue;
    // In a container without its own cgroup namespace, /proc/self/cgroup has the group's path on the host, but only the
    // container's part of this path is mounted.
    const fs::path mount = root / fs::path(left[4]).relative_path();
    fs::path below = fs::path(*group).lexically_relative(left[3]);
    if (below.empty() || *below.begin() == "..") below = ".";
    Hierarchy hierarchy;
    for (const fs::path& part : below) {
      if (part == ".") continue;
      hierarchy.insert(hierarchy.begin(), (hierarchy.empty() ? mount : hierarchy.front()) / part);
    }
    hierarchy.push_back(mount);
    return hierarchy;
  }
  return {};
}

template <typename T>
void Lower(std::optional<T>& least, std::optional<T> value) {
  if (value.has_value() && (!least.has_value() || *value < *least)) least = value;
}

// Parses "200000 100000" to 2; returns nullopt for "max 100000".
std::optional<double> QuotaV2(const fs::path& folder) {
  std::istringstream fields(FirstLine(folder / "cpu.max").value_or(""));
  double quota = 0, period = 0;
  if (!(fields >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> QuotaV1(const fs::path& folder) {
  const std::optional<int64_t> quota = Number(folder / "cpu.cfs_quota_us");
  const std::optional<int64_t> period = Number(folder / "cpu.cfs_period_us");
  if (quota.value_or(-1) <= 0 || period.value_or(0) <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// Reads the cpuset of the nearest group that has one. A group's cpuset is a subset of its parents' cpusets.
void ReadCores(const Hierarchy& hierarchy, const std::vector<const char*>& names, ControlGroup& found) {
  for (const fs::path& folder : hierarchy) {
    for (const char* name : names) {
      const std::optional<std::vector<int>> cores = ParseCoreList(FirstLine(folder / name).value_or(""));
      if (found.cores.has_value() || !cores.has_value() || cores->empty()) continue;
      found.cores = cores;
    }
  }
  if (hierarchy.empty()) return;
  // Reads only the files of the group itself, because the cores that are exclusive to a parent group may be shared by
  // its child groups. Version 1's root group is left out, because its cpuset.cpu_exclusive is always 1.
  const fs::path& own = hierarchy.front();
  const std::string partition = FirstLine(own / "cpuset.cpus.partition").value_or("");
  if (partition == "root" || partition == "isolated") found.exclusive = true;
  if (hierarchy.size() > 1 && Number(own / "cpuset.cpu_exclusive") == 1) found.exclusive = true;
}

}  // namespace

ControlGroup ReadControlGroup(const fs::path& root) {
  ControlGroup found;
  const Hierarchy unified = Find(root, "");
  for (const fs::path& folder : unified) {
    Lower(found.cpus, QuotaV2(folder));
    Lower(found.memory_bytes, Number(folder / "memory.max"));
  }
  ReadCores(unified, {"cpuset.cpus.effective"}, found);
  for (const fs::path& folder : Find(root, "cpu")) Lower(found.cpus, QuotaV1(folder));
  for (const fs::path& folder : Find(root, "memory")) {
    const std::optional<int64_t> limit = Number(folder / "memory.limit_in_bytes");
    if (limit.value_or(kNoLimit) < kNoLimit) Lower(found.memory_bytes, limit);
  }
  ReadCores(Find(root, "cpuset"), {"cpuset.effective_cpus", "cpuset.cpus"}, found);
  return found;
}

}  // namespace vitrine
