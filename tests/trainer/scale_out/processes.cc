// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/scale_out/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace vitrine {

Process::Process(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << "pipe: " << strerror(errno);
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    all[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "JOB_COMPLETION_INDEX",
                           "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"}) {
    all.erase(name);
  }
  for (const auto& [name, value] : environment) all[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(absl::StrCat(name, "=", value));
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  const int error =
      posix_spawnp(&pid_, command[0].c_str(), &actions, nullptr, pointers(command).data(), pointers(entries).data());
  if (error != 0) ADD_FAILURE() << command[0] << ": " << strerror(error);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  output_end_ = ends[0];
}

Process::~Process() {
  if (!waited_ && pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_end_);
}

void Process::Signal(int signal) const {
  EXPECT_EQ(kill(pid_, signal), 0) << strerror(errno);
}

bool Process::Read(absl::Time deadline) {
  pollfd entry = {.fd = output_end_, .events = POLLIN, .revents = 0};
  const int64_t left = std::max<int64_t>(0, absl::ToInt64Milliseconds(deadline - absl::Now()));
  if (poll(&entry, 1, static_cast<int>(left)) <= 0) return false;
  char piece[4096];
  const ssize_t got = read(output_end_, piece, sizeof piece);
  if (got > 0) output_.append(piece, got);
  return got > 0;
}

bool Process::WaitForOutput(const std::string& text) {
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  while (output_.find(text) == std::string::npos) {
    if (!Read(deadline)) return false;
  }
  return true;
}

int Process::Wait() {
  if (waited_) return exit_code_;
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  while (Read(deadline)) {
  }
  if (absl::Now() >= deadline) Signal(SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  waited_ = true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return exit_code_;
}

std::map<std::string, std::string> RankOf(int rank, int world_size, int port) {
  return {{"RANK", absl::StrCat(rank)},
          {"WORLD_SIZE", absl::StrCat(world_size)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", absl::StrCat(port)}};
}

}  // namespace vitrine
