// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/child_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "absl/strings/match.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"

namespace vitrine::testing {

ChildServer::ChildServer(const std::filesystem::path& folder, const std::vector<std::string>& arguments)
    : output_(folder / "vitrine-server.output") {
  std::vector<char*> argv = {const_cast<char*>(VITRINE_BIN "/vitrine-server")};
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

ChildServer::~ChildServer() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void ChildServer::Signal(int signal) const {
  kill(pid_, signal);
}

int ChildServer::Wait() {
  int status = 0;
  if (!Eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, absl::Minutes(1))) {
    ADD_FAILURE() << "the server did not end:\n" << Output();
    return -1;
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ChildServer::Output() const {
  std::ifstream file(output_);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string ChildServer::AwaitReady(absl::Duration patience) {
  static const std::regex kCalls("listening on (\\S+) \\(gRPC"), kMetrics("listening on (\\S+) \\(HTTP: metrics");
  std::smatch match, metrics;
  std::string output;
  const bool ready = Eventually(
      [&] {
        output = Output();
        if (!std::regex_search(output, match, kCalls) || !std::regex_search(output, metrics, kMetrics)) return false;
        metrics_address_ = metrics[1];
        return absl::StartsWith(
            HttpExchange(metrics_address_, "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200 ");
      },
      patience);
  EXPECT_TRUE(ready) << output;
  return ready ? match[1].str() : std::string();
}

}  // namespace vitrine::testing
