// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_
#define VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_

#include <cstdint>

namespace vitrine {

// User and system time that this process has used so far, in seconds, all threads together.
double OwnProcessorSeconds();

// What this thread has used so far or waited for, in nanoseconds: the time in which it was ready to run.
int64_t ThreadBusyNanoseconds();

// User and system time of another process, in steps of a hundredth of a second; 0 where it cannot be read.
double ProcessorSecondsOf(int process);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_
