// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_CHILD_PROGRAM_H_
#define VITRINE_TESTS_E2E_TESTING_CHILD_PROGRAM_H_

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

  bool Ended();
  // Returns the exit code. Fails the test if the program does not end within a minute.
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
