// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_MACHINE_MACHINE_H_
#define VITRINE_BASE_MACHINE_MACHINE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/machine/control_group.h"

namespace vitrine {

// What this process may use of the machine, which is not what the machine has. Found once, at start: a limit that
// changes later is followed at the next start.
struct Machine {
  std::vector<int> cores;       // it may run on, rising; at least one
  double cpus = 1;              // cores' worth of time: the number of cores, or a quota below that
  bool exclusive = false;       // nobody else runs on these cores
  int64_t memory_bytes = 0;     // the machine's memory, or a limit below that
  bool memory_limited = false;  // it is a limit of the control group

  // Threads that compute: one for each whole core of `cpus`, at least 1. A thread more would only be throttled, and
  // what is left of a core is for the event loops.
  int Threads() const;
  // "cores=0-1 cpus=1.5 ...", for the log.
  std::string Describe() const;
};

// Pure: `affinity` is the process's mask, `host_memory` the machine's memory.
Machine Combine(const ControlGroup& group, std::vector<int> affinity, int64_t host_memory);

// Of this process.
Machine FindMachine(const std::filesystem::path& root = "/");

}  // namespace vitrine

#endif  // VITRINE_BASE_MACHINE_MACHINE_H_
