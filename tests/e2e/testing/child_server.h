// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_CHILD_SERVER_H_
#define VITRINE_TESTS_E2E_TESTING_CHILD_SERVER_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/e2e/testing/child_program.h"

namespace vitrine::testing {

// A vitrine-server process. Its output goes to a file.
class ChildServer : public ChildProgram {
 public:
  // Starts the program with these arguments. Its output file is in `folder`.
  ChildServer(const std::filesystem::path& folder, const std::vector<std::string>& arguments);
  // Waits until the program has printed the gRPC and metrics addresses and /readyz returns 200. Returns the address in
  // "listening on ADDRESS (gRPC, ...". Fails the test after `patience`.
  std::string AwaitReady(absl::Duration patience = absl::Seconds(30));
  const std::string& metrics_address() const { return metrics_address_; }

 private:
  std::string metrics_address_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_CHILD_SERVER_H_
