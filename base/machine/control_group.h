// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_MACHINE_CONTROL_GROUP_H_
#define VITRINE_BASE_MACHINE_CONTROL_GROUP_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace vitrine {

// What the control groups of this process leave to it. What is absent is not limited, or cannot be seen.
struct ControlGroup {
  // Cores' worth of time: quota by period, of cpu.max (v2) or cpu.cfs_quota_us (v1).
  std::optional<double> cpus = std::nullopt;
  // cpuset.cpus.effective (v2), cpuset.effective_cpus or cpuset.cpus (v1).
  std::optional<std::vector<int>> cores = std::nullopt;
  // No other group may use these cores: of the process's own group cpuset.cpus.partition is "root" or "isolated" (v2),
  // or cpuset.cpu_exclusive is 1 and it is not the root (v1). A cpuset that somebody keeps apart by other means (the
  // static policy of the kubelet) cannot be told from a shared one.
  bool exclusive = false;
  // memory.max (v2) or memory.limit_in_bytes (v1).
  std::optional<int64_t> memory_bytes = std::nullopt;
};

// Reads /proc/self/cgroup, /proc/self/mountinfo and the group's files, version 2, version 1 and both at once (hybrid).
// Limits nest: of quota and memory the least on the way from the process's group up to the mount counts. A file that is
// missing or not understood limits nothing. `root` stands in front of every path, for tests on made trees.
ControlGroup ReadControlGroup(const std::filesystem::path& root = "/");

}  // namespace vitrine

#endif  // VITRINE_BASE_MACHINE_CONTROL_GROUP_H_
