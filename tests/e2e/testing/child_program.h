// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_CHILD_PROGRAM_H_
#define VITRINE_TESTS_E2E_TESTING_CHILD_PROGRAM_H_

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace vitrine::testing {

// A program of this project in a child process. Its output goes to a file.
class ChildProgram {
 public:
  ChildProgram(const std::string& program, const std::vector<std::string>& arguments,
               const std::filesystem::path& output);
  // Kills the process if it is still running.
  ~ChildProgram() { Kill(); }
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const { kill(pid_, signal); }
  bool Ended();
  // Waits for the process to end; returns its exit code, or 128 plus the signal. Fails the test after a minute, and
  // then returns -1.
  int Wait();
  void Kill();
  // Returns the text on stdout and stderr so far.
  std::string Output() const;

 private:
  const std::filesystem::path output_;
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_CHILD_PROGRAM_H_
