// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TEST_ENVIRONMENT_H_
#define VITRINE_TESTS_TEST_ENVIRONMENT_H_

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <string>

#include "tests/paths.h"

namespace vitrine {

// Returns the folder of the tests' Python environment. Creates the environment if it is missing, which takes half a
// minute. Returns "" if pip reaches no package index. Any other failure fails the test.
inline std::string TestEnvironment() {
  FILE* script = popen(VITRINE_SOURCE "/script/test-environment", "r");
  std::string folder;
  for (int c; (c = fgetc(script)) != EOF && c != '\n';) folder += static_cast<char>(c);
  const int status = pclose(script);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return "";
  EXPECT_EQ(status, 0) << "script/test-environment failed";
  return folder;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_TEST_ENVIRONMENT_H_
