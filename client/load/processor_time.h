// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_
#define VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_

#include <cstdint>

namespace vitrine {

// Returns the user and system time of this process so far, in seconds, over all threads.
double OwnProcessorSeconds();

// Returns the time in nanoseconds in which this thread ran or was runnable but waiting for a CPU.
int64_t ThreadBusyNanoseconds();

// Returns the user and system time of another process in seconds, to 0.01 s; 0 if it cannot be read.
double ProcessorSecondsOf(int process);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_
