// SPDX-License-Identifier: Apache-2.0
// Tests the limits on the memory that the server uses for its clients.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/common/imaging/images.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/faults/raw_http2.h"

namespace vitrine::testing {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

// Returns the peak resident memory of the process in bytes.
int64_t PeakMemory(const ChildServer& server) {
  std::ifstream status("/proc/" + std::to_string(server.pid()) + "/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  ADD_FAILURE() << "the server's memory cannot be read";
  return 0;
}

// Calls Classify on a new connection with this serialized message, optionally compressed.
grpc::Status SendOn(const std::string& address, const std::string& message,
                    grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  const grpc::Slice slice(message);
  grpc::ClientContext context;
  context.set_compression_algorithm(compression);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/vitrine.v1.Classifier/Classify", grpc::ByteBuffer(&slice, 1), &queue);
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->StartCall();
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return status;
}

std::string GoodRequest() {
  return ImageRequest("mixed", NoiseJpeg(24, 24, 1)).SerializeAsString();
}

grpc::Status ClassifyOn(const std::string& address) {
  return SendOn(address, GoodRequest());
}

// The server buffers a message until its last byte. Each round sends more than the limit of 512 MiB. The memory of the
// large messages must be free again before the round with small messages.
TEST(Memory, IncompleteMessagesUseLimitedMemory) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0", "--max-transport-bytes", "536870912"});
  const std::string address = server.AwaitReady();
  ASSERT_TRUE(ClassifyOn(address).ok());
  const int64_t before = PeakMemory(server);
  constexpr int64_t kCalls = 190;
  // `most` exceeds the limit, because the allocator keeps the memory of rejected calls for later use. The excess is
  // smaller for large messages, because the allocator returns their memory at once.
  struct Round {
    int64_t message, most;
  };
  for (const auto& [message, most] : {Round{15'000'000, 704 * kMebibyte}, Round{3'900'000, 1024 * kMebibyte}}) {
    RawHttp2 client(address);
    for (int i = 0; i < kCalls; ++i) client.Open("/vitrine.v1.Classifier/Classify", message);
    EXPECT_GT(client.Push(message - 1, absl::Seconds(5)), 300 * kMebibyte)
        << "the server buffered too little for this test";
    EXPECT_LT(client.open(), kCalls) << "the server ended no call above the limit";
    EXPECT_FALSE(client.closed());
    // The server must serve other callers at the same time.
    EXPECT_TRUE(Eventually([&] { return ClassifyOn(address).ok(); }));
    EXPECT_LT(PeakMemory(server) - before, most) << "messages of " << message;
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

// Each body is rejected when it exceeds the limit of 16 MiB. Its stream stays open, because the client reads no
// response.
TEST(Memory, RejectedBodiesUseNoMemoryWhileTheClientReadsNothing) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0"});
  const std::string address = server.AwaitReady();
  ASSERT_TRUE(ClassifyOn(address).ok());
  const int64_t before = PeakMemory(server);
  std::vector<std::unique_ptr<RawHttp2>> clients;
  for (int i = 0; i < 12; ++i) {
    RawHttp2& client = *clients.emplace_back(std::make_unique<RawHttp2>(address, /*answer_window=*/0));
    client.Open("/v1/embeddings", 0, "application/json");
    EXPECT_EQ(client.Push(17 * kMebibyte, absl::Seconds(5)), 17 * kMebibyte);
    EXPECT_EQ(client.open(), 1);
  }
  EXPECT_LT(PeakMemory(server) - before, 96 * kMebibyte);
  EXPECT_TRUE(ClassifyOn(address).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

TEST(Memory, AnIdleHttpConnectionHoldsNoResponse) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  std::filesystem::create_directories(folder.path() / "samples" / "group");
  std::ofstream(folder.path() / "samples" / "group" / "large.jpg") << std::string(4 * kMebibyte, 'x');
  ChildServer server(folder.path(),
                     {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0", "--metrics",
                      "127.0.0.1:0", "--page", "--page-samples", folder.path() / "samples"});
  const std::string address = server.AwaitReady();
  const int64_t before = PeakMemory(server);
  std::vector<int> idle;
  for (int i = 0; i < 24; ++i) {
    const int connection = idle.emplace_back(ConnectTcp(address));
    const std::string request = "GET /page/samples/group/large.jpg HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_EQ(send(connection, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    std::string part(kMebibyte, '\0');
    for (int64_t left = 4 * kMebibyte; left > 0;) {
      const ssize_t got = recv(connection, part.data(), part.size(), 0);
      ASSERT_GT(got, 0);
      left -= got;
    }
  }
  EXPECT_LT(PeakMemory(server) - before, 48 * kMebibyte);
  for (const int connection : idle) close(connection);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

// The message has 128 MiB, which gzip compresses to about 130 KB.
TEST(Memory, ACompressionBombUsesLittleMemory) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0"});
  const std::string address = server.AwaitReady();
  ASSERT_TRUE(ClassifyOn(address).ok());
  const int64_t before = PeakMemory(server);
  const std::string bomb(128 * kMebibyte, '\0');
  for (int i = 0; i < 3; ++i) {
    const grpc::Status status = SendOn(address, bomb, GRPC_COMPRESS_GZIP);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr("decompress to 134217728"));
  }
  EXPECT_LT(PeakMemory(server) - before, 32 * kMebibyte);
  EXPECT_TRUE(ClassifyOn(address).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

// Returns the JPEG with a header in which width and height are `side`.
std::string Declaring(std::string jpeg, int side) {
  for (const char* frame : {"\xFF\xC0", "\xFF\xC2"}) {
    const size_t at = jpeg.find(frame);
    if (at == std::string::npos) continue;
    for (const size_t field : {at + 5, at + 7}) {
      jpeg[field] = static_cast<char>(side >> 8);
      jpeg[field + 1] = static_cast<char>(side & 0xFF);
    }
    return jpeg;
  }
  ADD_FAILURE() << "the test's image has no frame header";
  return jpeg;
}

// Returns a request with `depth` nested groups in an unknown field.
std::string Nested(int depth) {
  return GoodRequest() + std::string(depth, '\x7b') + std::string(depth, '\x7c');
}

// The server must not allocate memory for 3 GB of pixels, 100 MB of coefficients, or the stack for a deeply nested
// message.
TEST(Memory, BombsAreRefusedWithLittleMemory) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0"});
  const std::string address = server.AwaitReady();
  EXPECT_TRUE(SendOn(address, Nested(50)).ok()) << "the server must ignore an unknown field";
  const int64_t before = PeakMemory(server);
  const Image image = SmoothImage(64, 64, 3);
  const auto request_of = [](const std::string& jpeg) { return ImageRequest("mixed", jpeg).SerializeAsString(); };
  for (const auto& [bomb, reason] : {std::pair(request_of(Declaring(JpegFile(image), 32000)), "32000 x 32000"),
                                     {request_of(Declaring(JpegFile(image, {.scans = 1006}), 4096)), "100 scans"},
                                     {Nested(1'000'000), "cannot be parsed"}}) {
    for (int i = 0; i < 3; ++i) {
      const grpc::Status status = SendOn(address, bomb);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
      EXPECT_THAT(status.error_message(), ::testing::HasSubstr(reason));
    }
  }
  EXPECT_LT(PeakMemory(server) - before, 64 * kMebibyte);
  EXPECT_TRUE(ClassifyOn(address).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
}

int64_t OpenConnections(const ChildServer& server) {
  const std::string page =
      HttpExchange(server.metrics_address(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string name = "\nvitrine_connections ";
  int64_t count = -1;
  if (const size_t at = page.find(name); at != std::string::npos) {
    const size_t begin = at + name.size();
    EXPECT_TRUE(absl::SimpleAtoi(page.substr(begin, page.find('\n', begin) - begin), &count));
  }
  return count;
}

// Half of the connections send an HTTP/2 preface and then stop; the other half send nothing.
TEST(Memory, ThousandsOfIdleConnectionsUseLittleMemory) {
  constexpr int kPairs = 1500;
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 4000) GTEST_SKIP() << "the hard limit of this machine is below 4000 file descriptors";
  const rlimit before_limit = limit;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "mixed", MixedConfig());
  ChildServer server(folder.path(), {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0",
                                     "--metrics", "127.0.0.1:0"});
  const std::string address = server.AwaitReady();
  ASSERT_TRUE(ClassifyOn(address).ok());
  const int64_t before = PeakMemory(server);
  std::vector<std::unique_ptr<RawHttp2>> idle;
  std::vector<int> mute;
  for (int i = 0; i < kPairs; ++i) idle.push_back(std::make_unique<RawHttp2>(address));
  // Opens these connections last, because the server closes them soon.
  for (int i = 0; i < kPairs; ++i) mute.push_back(ConnectTcp(address));
  EXPECT_TRUE(Eventually([&] { return OpenConnections(server) >= 2 * kPairs; })) << OpenConnections(server);
  EXPECT_TRUE(ClassifyOn(address).ok());
  EXPECT_LT(PeakMemory(server) - before, 2 * kPairs * int64_t{64} * 1024);
  idle.clear();
  for (const int connection : mute) close(connection);
  EXPECT_TRUE(Eventually([&] { return OpenConnections(server) <= 1; })) << OpenConnections(server);
  EXPECT_TRUE(ClassifyOn(address).ok());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  setrlimit(RLIMIT_NOFILE, &before_limit);
}

}  // namespace
}  // namespace vitrine::testing
