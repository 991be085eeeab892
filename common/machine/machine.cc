// SPDX-License-Identifier: Apache-2.0
#include "common/machine/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace vitrine {
namespace {

constexpr size_t kMostCores = 8192;

std::vector<int> Affinity() {
  cpu_set_t* const set = CPU_ALLOC(kMostCores);
  const size_t bytes = CPU_ALLOC_SIZE(kMostCores);
  CPU_ZERO_S(bytes, set);
  std::vector<int> cores;
  if (sched_getaffinity(0, bytes, set) == 0) {
    for (size_t core = 0; core < kMostCores; ++core) {
      if (CPU_ISSET_S(core, bytes, set)) cores.push_back(static_cast<int>(core));
    }
  }
  CPU_FREE(set);
  return cores;
}

}  // namespace

int Machine::Threads() const {
  // The tolerance makes a quota of 1.9999 cores count as 2.
  return std::max(1, static_cast<int>(cpus + 0.01));
}

Machine Combine(const ControlGroup& group, std::vector<int> affinity, int64_t host_memory) {
  Machine machine;
  machine.cores = std::move(affinity);
  if (group.cores.has_value()) {
    std::vector<int> both;
    std::set_intersection(machine.cores.begin(), machine.cores.end(), group.cores->begin(), group.cores->end(),
                          std::back_inserter(both));
    // Normally the kernel keeps the process's CPU mask within the cpuset. If they have no core in common nevertheless,
    // the cpuset is ignored.
    if (!both.empty()) machine.cores = std::move(both);
  }
  if (machine.cores.empty()) machine.cores.push_back(0);
  machine.cpus = std::min(static_cast<double>(machine.cores.size()), group.cpus.value_or(1e9));
  machine.exclusive = group.exclusive;
  machine.memory_limited = group.memory_bytes.has_value() && *group.memory_bytes < host_memory;
  machine.memory_bytes = machine.memory_limited ? *group.memory_bytes : host_memory;
  return machine;
}

Machine FindMachine(const std::filesystem::path& root) {
  const int64_t host_memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  return Combine(ReadControlGroup(root), Affinity(), host_memory);
}

}  // namespace vitrine
