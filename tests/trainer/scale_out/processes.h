// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_SCALE_OUT_PROCESSES_H_
#define VITRINE_TESTS_TRAINER_SCALE_OUT_PROCESSES_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/free_port.h"

namespace vitrine {

// A child process whose stdout and stderr are read line by line. The destructor kills it if it is still running.
class Process {
 public:
  // The child's environment is this process's, without the variables that torchrun sets, plus `environment`.
  Process(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Reads until the output contains `text`. Returns false if the output ends or two minutes pass first.
  bool WaitForOutput(const std::string& text);
  // Reads the rest of the output, waits for the process, and returns its exit code, or the negative number of the
  // signal that ended it.
  int Wait();
  const std::string& output() const { return output_; }

 private:
  bool Read(absl::Time deadline);  // false: the output has ended or the deadline has passed

  pid_t pid_ = -1;
  int output_end_ = -1;
  std::string output_;
  bool waited_ = false;
  int exit_code_ = 0;
};

// Returns RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for ranks on this machine.
std::map<std::string, std::string> RankOf(int rank, int world_size, int port);

}  // namespace vitrine

#endif  // VITRINE_TESTS_TRAINER_SCALE_OUT_PROCESSES_H_
