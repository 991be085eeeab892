// SPDX-License-Identifier: Apache-2.0
// Tests when the server's thread ends calls whose deadline has passed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/wire/rpc/grpc_server.h"
#include "tests/server/wire/rpc/fake_stream.h"

namespace vitrine {
namespace {

using vitrine::testing::FakeCall;

// A call that answers nothing.
class Waiting final : public GrpcCall {
 public:
  explicit Waiting(GrpcOpening opening) : GrpcCall(std::move(opening), 100, false) {}

 private:
  void OnMessage(absl::StatusOr<MessageBytes>) override {}
  void OnHalfClosed() override {}
};

// A busy machine may delay single calls, so only the fastest of several calls must be in time.
TEST(GrpcDeadline, EndsACallSoonAfterItHasPassed) {
  using std::chrono::milliseconds;
  GrpcServer server({}, SteadyClock());
  server.Add("/test.Service/Wait", [](GrpcOpening opening) { return std::make_shared<Waiting>(std::move(opening)); });
  ASSERT_TRUE(server.StartDeadlines().ok());
  FakeCall other(server, "/test.Service/Wait", {{"grpc-timeout", "1H"}});
  for (const int timeout : {20, 130}) {
    auto shortest = milliseconds::max();
    for (int i = 0; i < 6; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      FakeCall call(server, "/test.Service/Wait", {{"grpc-timeout", absl::StrCat(timeout, "m")}});
      call.stream().AwaitEnd();
      const auto time = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
      EXPECT_EQ(call.stream().Value("grpc-status"), "4");
      // Ignores the first call, which may end in time by chance if a periodic check comes just then.
      if (i > 0) shortest = std::min(shortest, time);
    }
    EXPECT_GE(shortest, milliseconds(timeout));
    EXPECT_LT(shortest, milliseconds(timeout + 40));
  }
}

}  // namespace
}  // namespace vitrine
