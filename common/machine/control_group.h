// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_MACHINE_CONTROL_GROUP_H_
#define VITRINE_COMMON_MACHINE_CONTROL_GROUP_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace vitrine {

// Limits that control groups set for this process. An absent value means no limit, or an unreadable one.
struct ControlGroup {
  // CPU time in cores: quota / period of cpu.max (v2) or cpu.cfs_quota_us (v1).
  std::optional<double> cpus = std::nullopt;
  // cpuset.cpus.effective (v2), cpuset.effective_cpus or cpuset.cpus (v1).
  std::optional<std::vector<int>> cores = std::nullopt;
  // True if no other group may use these cores: cpuset.cpus.partition of the process's own group is "root" or
  // "isolated" (v2), or cpuset.cpu_exclusive is 1 and the group is not the root (v1). A cpuset kept exclusive by other
  // means (the kubelet's static policy) looks like a shared one.
  bool exclusive = false;
  // memory.max (v2) or memory.limit_in_bytes (v1).
  std::optional<int64_t> memory_bytes = std::nullopt;
};

// Reads /proc/self/cgroup, /proc/self/mountinfo and the group's files, for version 2, version 1 and both at once
// (hybrid). Limits nest: the lowest quota and memory limit from the process's group up to the mount applies. A missing
// or malformed file is no limit. `root` is prepended to every path, for tests.
ControlGroup ReadControlGroup(const std::filesystem::path& root = "/");

}  // namespace vitrine

#endif  // VITRINE_COMMON_MACHINE_CONTROL_GROUP_H_
