// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_SHELL_H_
#define VITRINE_TESTS_CLIENT_SHELL_H_

#include <sys/types.h>

#include <string>

#include "tests/scratch_folder.h"

namespace vitrine {

struct Ran {
  int exit_code = 0;
  std::string out, errors;
};

// Runs a shell command in the folder. Unsets the environment variables for CMake, the server's address, tokens and
// traces.
Ran Shell(const ScratchFolder& folder, const std::string& command);

// A vitrine-server process that serves the bundled model kv-pos-mnist from the folder's "repository". `arguments` are
// additional arguments in shell syntax. The destructor ends the process.
class BundledServer {
 public:
  explicit BundledServer(const ScratchFolder& folder, const std::string& arguments = "");
  ~BundledServer();
  BundledServer(const BundledServer&) = delete;
  BundledServer& operator=(const BundledServer&) = delete;

  // Returns host:port. If the server is not ready within a minute, fails the test and returns an empty string.
  const std::string& address() const { return address_; }

 private:
  pid_t pid_ = -1;
  std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_SHELL_H_
