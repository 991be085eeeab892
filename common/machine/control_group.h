// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_MACHINE_CONTROL_GROUP_H_
#define VITRINE_COMMON_MACHINE_CONTROL_GROUP_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace vitrine {

// Limits that control groups set for this process. An absent value means that there is no limit or it cannot be read.
struct ControlGroup {
  // CPU time in cores: quota / period of cpu.max (v2) or cpu.cfs_quota_us (v1).
  std::optional<double> cpus = std::nullopt;
  // Cores, from cpuset.cpus.effective (v2), cpuset.effective_cpus or cpuset.cpus (v1).
  std::optional<std::vector<int>> cores = std::nullopt;
  // true: no other group may use these cores. In version 2, cpuset.cpus.partition of the process's own group is then
  // "root" or "isolated". In version 1, cpuset.cpu_exclusive of this group is then 1, and this group is not the root
  // group. A cpuset that other software keeps exclusive (the kubelet's static policy) cannot be distinguished from a
  // shared one.
  bool exclusive = false;
  // Memory limit, from memory.max (v2) or memory.limit_in_bytes (v1).
  std::optional<int64_t> memory_bytes = std::nullopt;
};

// Reads /proc/self/cgroup, /proc/self/mountinfo and the group's files, in version 2, version 1 and hybrid systems.
// Returns the lowest quota and the lowest memory limit of all groups from the process's group up to the mount point. A
// missing or malformed file means no limit. `root` is prepended to every path, for tests.
ControlGroup ReadControlGroup(const std::filesystem::path& root = "/");

}  // namespace vitrine

#endif  // VITRINE_COMMON_MACHINE_CONTROL_GROUP_H_
