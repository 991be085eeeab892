// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/child_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine::testing {

ChildProgram::ChildProgram(const std::string& program, const std::vector<std::string>& arguments,
                           const std::filesystem::path& output)
    : output_(output) {
  const std::string path = absl::StrCat(VITRINE_BIN, "/", program);
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int file = open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(file);
}

bool ChildProgram::Ended() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

int ChildProgram::Wait() {
  if (!Eventually([&] { return Ended(); }, absl::Minutes(1))) {
    ADD_FAILURE() << output_.stem() << " did not end:\n" << Output();
    return -1;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

void ChildProgram::Kill() {
  if (Ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
  pid_ = -1;
}

std::string ChildProgram::Output() const {
  return ReadFile(output_);
}

}  // namespace vitrine::testing
