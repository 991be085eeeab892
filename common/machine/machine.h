// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_MACHINE_MACHINE_H_
#define VITRINE_COMMON_MACHINE_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "common/machine/control_group.h"

namespace vitrine {

// Resources of the machine that this process may use. FindMachine reads the limits once, so that later changes apply
// only after a restart.
struct Machine {
  std::vector<int> cores;       // cores that the process may run on, ascending; at least one
  double cpus = 1;              // CPU time in cores: the number of cores, or a quota below it
  bool exclusive = false;       // true: no other control group may use these cores
  int64_t memory_bytes = 0;     // memory of the machine in bytes, or the control group's limit if lower
  bool memory_limited = false;  // true: memory_bytes is the control group's limit

  // Returns the number of compute threads: one per whole core of `cpus`, at least 1. An additional thread would be
  // throttled; the remaining fraction of a core serves the event loops.
  int Threads() const;
};

// Combines limits that the caller has read. `affinity`: the process's CPU mask. `host_memory`: the machine's memory in
// bytes.
Machine Combine(const ControlGroup& group, std::vector<int> affinity, int64_t host_memory);

// Finds the resources of this process. `root` is prepended to every path, for tests.
Machine FindMachine(const std::filesystem::path& root = "/");

}  // namespace vitrine

#endif  // VITRINE_COMMON_MACHINE_MACHINE_H_
