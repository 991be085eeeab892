#include "tests/client/shell.h"

#include <sys/wait.h>

#include <cstdlib>

namespace vitrine {

Ran Shell(const ScratchFolder& folder, const std::string& command) {
  folder.Write("command.sh", command);
  const std::string line = "cd " + folder.path().string() +
                           " && env -u CMAKE_PREFIX_PATH -u CPATH -u VITRINE_SERVER -u VITRINE_TOKEN "
                           "-u VITRINE_TOKEN_FILE bash command.sh >command.out 2>command.err";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, folder.Read("command.out"), folder.Read("command.err")};
}

}  // namespace vitrine
