// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/testing/child_server.h"

#include <gtest/gtest.h>

#include <regex>

#include "absl/strings/match.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {

ChildServer::ChildServer(const std::filesystem::path& folder, const std::vector<std::string>& arguments)
    : ChildProgram("vitrine-server", arguments, folder / "vitrine-server.output") {}

std::string ChildServer::AwaitReady(absl::Duration patience) {
  static const std::regex kCalls("listening on (\\S+) \\(gRPC"), kMetrics("listening on (\\S+) \\(HTTP: metrics");
  std::smatch match, metrics;
  std::string output;
  const bool ready = Eventually(
      [&] {
        output = Output();
        if (!std::regex_search(output, match, kCalls) || !std::regex_search(output, metrics, kMetrics)) return false;
        metrics_address_ = metrics[1];
        return absl::StartsWith(
            HttpExchange(metrics_address_, "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200 ");
      },
      patience);
  EXPECT_TRUE(ready) << output;
  return ready ? match[1].str() : std::string();
}

}  // namespace vitrine::testing
