// SPDX-License-Identifier: Apache-2.0
#include "tests/client/shell.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "absl/time/clock.h"
#include "tests/paths.h"

namespace vitrine {

Ran Shell(const ScratchFolder& folder, const std::string& command) {
  folder.Write("command.sh", command);
  const std::string line = "cd " + folder.path().string() +
                           " && env -u CMAKE_PREFIX_PATH -u CPATH -u VITRINE_SERVER -u VITRINE_TOKEN "
                           "-u VITRINE_TOKEN_FILE -u TRACEPARENT bash command.sh >command.out 2>command.err";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, folder.Read("command.out"), folder.Read("command.err")};
}

BundledServer::BundledServer(const ScratchFolder& folder, const std::string& arguments) {
  namespace fs = std::filesystem;
  fs::create_directories(folder.path() / "repository");
  fs::copy(VITRINE_SOURCE "/models/bundled/kv-pos-mnist", folder.path() / "repository/kv-pos-mnist",
           fs::copy_options::recursive);
  const Ran started =
      Shell(folder, VITRINE_BIN
                        "/vitrine-server --repository repository --listen 127.0.0.1:0 --metrics 127.0.0.1:0 "
                        "--log-requests all " +
                        arguments + " >server.log 2>&1 & echo $!");
  pid_ = std::atoi(started.out.c_str());
  const std::regex listening("listening on (\\S+) \\(gRPC"), ready("version ready model=kv-pos-mnist version=1");
  const absl::Time end = absl::Now() + absl::Minutes(1);
  for (std::string log; absl::Now() < end && kill(pid_, 0) == 0; absl::SleepFor(absl::Milliseconds(20))) {
    log = folder.Read("server.log");
    std::smatch found;
    if (!std::regex_search(log, ready) || !std::regex_search(log, found, listening)) continue;
    address_ = found[1];
    return;
  }
  ADD_FAILURE() << "the server did not start: " << folder.Read("server.log");
}

BundledServer::~BundledServer() {
  if (pid_ > 0) kill(pid_, SIGKILL);
}

}  // namespace vitrine
