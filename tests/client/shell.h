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

// A command of the shell in the folder. What the environment says about CMake, a server or a token does not count.
Ran Shell(const ScratchFolder& folder, const std::string& command);

// vitrine-server in a process of its own, with the bundled kv-pos-mnist in "repository" of the folder and more
// arguments of the shell. Ends with the object.
class BundledServer {
 public:
  explicit BundledServer(const ScratchFolder& folder, const std::string& arguments = "");
  ~BundledServer();
  BundledServer(const BundledServer&) = delete;
  BundledServer& operator=(const BundledServer&) = delete;

  // host:port; empty, and the test failed, where it did not become ready within a minute.
  const std::string& address() const { return address_; }

 private:
  pid_t pid_ = -1;
  std::string address_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_SHELL_H_
