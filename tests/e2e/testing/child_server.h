// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_CHILD_SERVER_H_
#define VITRINE_TESTS_E2E_TESTING_CHILD_SERVER_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace vitrine::testing {

// A vitrine-server process. Its output goes to a file.
class ChildServer {
 public:
  // Starts the program with these arguments. Its output file is in `folder`.
  ChildServer(const std::filesystem::path& folder, const std::vector<std::string>& arguments);
  // Kills the process if it is still running.
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Waits for the process to end; returns its exit code, or 128 plus the signal. Fails the test after a minute.
  int Wait();
  // Returns the text on stdout and stderr so far.
  std::string Output() const;
  // Waits until the program has printed the gRPC and metrics addresses and /readyz returns 200. Returns the address in
  // "listening on ADDRESS (gRPC, ...". Fails the test after `patience`.
  std::string AwaitReady(absl::Duration patience = absl::Seconds(30));
  const std::string& metrics_address() const { return metrics_address_; }

 private:
  std::filesystem::path output_;
  pid_t pid_ = -1;
  std::string metrics_address_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_CHILD_SERVER_H_
