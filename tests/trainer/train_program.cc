// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/train_program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/paths.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

constexpr char kTrainer[] = VITRINE_BIN "/vitrine-train";

}  // namespace

Outcome Shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char piece[4096];
  for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) outcome.output.append(piece, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

Outcome Trainer(const std::string& arguments) {
  return Shell(absl::StrCat(kTrainer, " ", arguments, " 2>&1"));
}

RunningTrainer::RunningTrainer(const std::string& arguments) {
  int ends[2];
  if (pipe(ends) != 0) return;
  process_ = fork();
  if (process_ == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    execl("/bin/sh", "sh", "-c", absl::StrCat("exec ", kTrainer, " ", arguments).c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  errors_ = fdopen(ends[0], "r");
}

RunningTrainer::~RunningTrainer() {
  if (process_ > 0) End(SIGKILL);
}

bool RunningTrainer::WaitFor(std::string_view words) {
  for (char line[4096]; fgets(line, sizeof line, errors_) != nullptr;) {
    said_ += line;
    if (said_.find(words) != std::string::npos) return true;
  }
  return false;
}

int RunningTrainer::End(int signal) {
  kill(process_, signal);
  WaitFor("no line holds this");
  fclose(errors_);
  int status = 0;
  const bool ended = waitpid(process_, &status, 0) == process_;
  process_ = -1;
  return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TrainProgram::TrainProgram() {
  WriteImageFolder(ColouredSquares(48, 1), folder_.path() / "data" / "train");
  WriteImageFolder(ColouredSquares(9, 2), folder_.path() / "data" / "test");
  std::ofstream(recipe_) << PrintRecipe(SmallRecipe());
  flags_ = absl::StrCat(" --data imagefolder:", data_, " --work ", work_, " --threads 2 ");
}

std::string TrainProgram::Text(const std::string& file) const {
  return folder_.Read(file);
}

}  // namespace vitrine
