// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/stream_call.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/server/wire/rpc/served_calls.h"

namespace vitrine::testing {
namespace {

// A stream whose requests throw on a worker thread, before they are answered.
class ThrowingCall final : public StreamCall {
 public:
  ThrowingCall(CallParts& parts, GrpcOpening opening)
      : StreamCall(parts, std::nullopt, std::move(opening), 100, Order::kAsReceived) {}

 private:
  void Submit(std::shared_ptr<InFlight> read, absl::StatusOr<MessageBytes>) override {
    (void)RunOn(server().body_workers(), network(), [read] { throw std::runtime_error("from a library"); });
  }
};

// If this test fails, the fixture may wait forever for the end of the call.
TEST_F(ServedCallsTest, AnExceptionEndsAStreamAndReleasesIt) {
  AddStreamCall<ThrowingCall>(server_, parts_, "/test.Service/Throws");
  FakeCall call(server_, "/test.Service/Throws");
  call.SendMessage(v1::ClassifyRequest());
  call.stream().AwaitEnd();
  EXPECT_EQ(call.stream().Value("grpc-status"), "13");
  call.Close();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (call.is_held() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_FALSE(call.is_held());
}

}  // namespace
}  // namespace vitrine::testing
