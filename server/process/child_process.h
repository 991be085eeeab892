// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_CHILD_PROCESS_H_
#define VITRINE_SERVER_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"
#include "common/mutex.h"

namespace vitrine {

// A program that runs for this process, at low priority. Its stdout and stderr form one stream of lines. It inherits
// stdin and no other descriptor. The program gets SIGTERM when the thread that called Start ends, even if this process
// is killed.
class ChildProcess {
 public:
  // `command` is the path of the program and its arguments.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const std::vector<std::string>& command);
  // Sends SIGTERM to the child and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits for the next line and stores it without its newline; splits lines above 64 KiB. Returns false once the child
  // has closed its output.
  bool ReadLine(std::string& line);
  // Waits for the child's end. Returns its exit code, or 128 + the number of the signal that ended it.
  int Wait();
  // Sends SIGTERM, if the child runs. Thread-safe.
  void Terminate();

 private:
  ChildProcess(pid_t pid, FileDescriptor output) : output_(std::move(output)), pid_(pid) {}

  FileDescriptor output_;
  std::string read_;  // bytes that follow the last returned line
  int code_ = 0;      // valid once pid_ is 0
  Mutex mutex_;
  pid_t pid_ ABSL_GUARDED_BY(mutex_);  // 0: Wait has collected the exit status; the id may be reused
};

// Returns the path of the program `name` in the folder of the running program.
std::string ProgramBeside(const std::string& name);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_CHILD_PROCESS_H_
