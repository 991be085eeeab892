// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_PROCESS_STATS_H_
#define VITRINE_SERVER_OBSERVE_PROCESS_STATS_H_

namespace vitrine {

// Resource use of this process, as reported by the system. Zero if unknown.
struct ProcessStats {
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double open_files = 0;
  double max_files = 0;  // the soft limit of open files
  double threads = 0;
  double cpu_seconds = 0;    // CPU time in user and system mode
  double start_seconds = 0;  // Unix time
};

// Reads /proc/self. Thread-safe; takes about 50 microseconds.
ProcessStats ReadProcessStats();

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_PROCESS_STATS_H_
