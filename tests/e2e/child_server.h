// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_CHILD_SERVER_H_
#define VITRINE_TESTS_E2E_CHILD_SERVER_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace vitrine::testing {

// vitrine-server itself, in a process of its own, with its output in a file.
class ChildServer {
 public:
  // Starts the program with these arguments. `folder` takes the output.
  ChildServer(const std::filesystem::path& folder, const std::vector<std::string>& arguments);
  // Kills it if it still runs.
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Waits for the end; the exit code, or 128 plus the signal that ended it. Fails the test after a minute.
  int Wait();
  // stdout and stderr so far.
  std::string Output() const;
  // The address in "listening on ADDRESS (gRPC, ...", once it is printed, with that of metrics, and /readyz is 200.
  // The test fails if that takes longer than `patience`.
  std::string AwaitReady(absl::Duration patience = absl::Seconds(30));
  const std::string& metrics_address() const { return metrics_address_; }

 private:
  std::filesystem::path output_;
  pid_t pid_ = -1;
  std::string metrics_address_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_CHILD_SERVER_H_
