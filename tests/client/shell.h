#ifndef VITRINE_TESTS_CLIENT_SHELL_H_
#define VITRINE_TESTS_CLIENT_SHELL_H_

#include <string>

#include "tests/scratch_folder.h"

namespace vitrine {

struct Ran {
  int exit_code = 0;
  std::string out, errors;
};

// A command of the shell in the folder. What the environment says about CMake, a server or a token does not count.
Ran Shell(const ScratchFolder& folder, const std::string& command);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_SHELL_H_
