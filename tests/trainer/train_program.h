// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_TRAIN_PROGRAM_H_
#define VITRINE_TESTS_TRAINER_TRAIN_PROGRAM_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "tests/scratch_folder.h"

namespace vitrine {

struct Outcome {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

Outcome Shell(const std::string& command);
// Runs vitrine-train with these arguments.
Outcome Trainer(const std::string& arguments);

// A vitrine-train process, killed at destruction.
class RunningTrainer {
 public:
  explicit RunningTrainer(const std::string& arguments);
  RunningTrainer(const RunningTrainer&) = delete;
  RunningTrainer& operator=(const RunningTrainer&) = delete;
  ~RunningTrainer();

  pid_t process() const { return process_; }
  // Reads the output until a line contains `words`. Returns false if the output ends first.
  bool WaitFor(std::string_view words);
  // Sends the signal, waits for the process to end and returns its exit code, or -1.
  int End(int signal);
  const std::string& said() const { return said_; }

 private:
  pid_t process_ = -1;
  FILE* errors_ = nullptr;
  std::string said_;
};

// A folder with a recipe and images to train on.
class TrainProgram : public ::testing::Test {
 protected:
  TrainProgram();

  std::string Text(const std::string& file) const;  // content of a file in the folder

  ScratchFolder folder_;
  const std::string recipe_ = folder_.path() / "small.textproto";
  const std::string data_ = folder_.path() / "data";
  const std::string work_ = folder_.path() / "work";
  const std::string repository_ = folder_.path() / "repository";
  std::string flags_;  // --data, --work and --threads
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_TRAINER_TRAIN_PROGRAM_H_
