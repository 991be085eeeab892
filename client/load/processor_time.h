#ifndef VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_
#define VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_

namespace vitrine {

// User and system time that this process has used so far, in seconds, all threads together.
double OwnProcessorSeconds();

// The same of another process, in steps of a hundredth of a second; 0 where it cannot be read.
double ProcessorSecondsOf(int process);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_PROCESSOR_TIME_H_
