// SPDX-License-Identifier: Apache-2.0
// Tests SIGTERM while streams are busy. vitrine-server must answer the accepted requests, and later requests must not
// delay its end.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "vitrine/v1/classifier.grpc.pb.h"

namespace vitrine::testing {
namespace {

constexpr int kStreams = 4;  // number of streams of each class
constexpr int kInFlight = 128;

using ClassifyStream = grpc::ClientReaderWriter<v1::ClassifyRequest, v1::ClassifyStreamResponse>;

// A stream on its own connection.
class BusyStream {
 public:
  BusyStream(const std::string& address, std::string image) : image_(std::move(image)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::Classifier::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    stream_ = stub_->ClassifyStream(&context_);
  }
  virtual ~BusyStream() = default;

 protected:
  bool Send() {
    v1::ClassifyRequest request = ImageRequest("null", image_);
    request.set_request_id(absl::StrCat(++sent_));
    return stream_->Write(request);
  }

  grpc::ClientContext context_;
  std::unique_ptr<v1::Classifier::Stub> stub_;
  std::unique_ptr<ClassifyStream> stream_;

 private:
  const std::string image_;
  int64_t sent_ = 0;
};

// Keeps kInFlight requests in flight: sends a new request after each answer or rejection.
class ResendingStream : public BusyStream {
 public:
  ResendingStream(const std::string& address, std::string image) : BusyStream(address, std::move(image)) {
    writer_ = std::jthread([this] {
      do room_.acquire();
      while (!ended_ && Send());
    });
    reader_ = std::jthread([this] {
      for (v1::ClassifyStreamResponse answer; stream_->Read(&answer); room_.release()) {
        if (answer.has_response()) ++answered_;
        if (answer.error().code() == static_cast<int>(grpc::StatusCode::UNAVAILABLE)) ++draining_;
      }
      ended_ = true;
      room_.release();
    });
  }

  int64_t answered() const { return answered_; }
  // Number of requests rejected because the server is draining.
  int64_t draining() const { return draining_; }
  // Blocks until the server has ended the stream.
  grpc::Status Finish() {
    writer_.join();
    reader_.join();
    return stream_->Finish();
  }

 private:
  std::counting_semaphore<> room_{kInFlight};
  std::atomic<int64_t> answered_ = 0, draining_ = 0;
  std::atomic<bool> ended_ = false;
  std::jthread writer_, reader_;
};

// Reads no answer, and sends requests as long as possible.
class UnreadStream : public BusyStream {
 public:
  UnreadStream(const std::string& address, std::string image) : BusyStream(address, std::move(image)) {
    writer_ = std::jthread([this] {
      while (Send()) ++written_;
    });
  }
  ~UnreadStream() override {
    context_.TryCancel();  // with unread answers, gRPC does not report the end
    writer_.join();
    (void)stream_->Finish();
  }

  int64_t written() const { return written_; }

 private:
  std::atomic<int64_t> written_ = 0;
  std::jthread writer_;
};

TEST(Termination, BusyStreamsDoNotDelayTheEnd) {
  const ScratchFolder folder;
  PublishModel(folder.path() / "repository", "null", NullModelConfig());
  // The drain deadline is longer than the timeout of ChildServer::Wait, so a drain that waits for the deadline fails
  // the test.
  ChildServer server(folder.path(),
                     {"--repository", folder.path() / "repository", "--listen", "127.0.0.1:0", "--metrics",
                      "127.0.0.1:0", "--drain-deadline", "10m", "--max-queue-requests", "64", "--executors", "1"});
  const std::string address = server.AwaitReady();
  ASSERT_FALSE(address.empty());
  std::vector<std::unique_ptr<ResendingStream>> resending;
  std::vector<std::unique_ptr<UnreadStream>> unread;
  for (int i = 0; i < kStreams; ++i) {
    resending.push_back(std::make_unique<ResendingStream>(address, NoiseJpeg(64, 64, i + 1)));
    unread.push_back(std::make_unique<UnreadStream>(address, NoiseJpeg(24, 24, i + 1)));
  }
  for (const auto& stream : resending) EXPECT_TRUE(Eventually([&] { return stream->answered() > 10; }));
  for (const auto& stream : unread) EXPECT_TRUE(Eventually([&] { return stream->written() > kInFlight; }));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_THAT(server.Output(), ::testing::ContainsRegex("stopped accepted=([0-9]+) answered="));
  for (const auto& stream : resending) {
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_LE(stream->draining(), kInFlight) << "the server continued to read and reject requests";
  }
}

}  // namespace
}  // namespace vitrine::testing
