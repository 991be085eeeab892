// Far more than the server can do: it stays up, answers what it admits and refuses the rest at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"

namespace vitrine::testing {
namespace {

struct Outcome {
  int ok = 0, refused = 0, other = 0;
};

// Sends `calls` at once, each on the shared connection, and waits for all.
Outcome Burst(RunningServer& running, const v1::ClassifyRequest& request, int calls) {
  struct Call {
    grpc::ClientContext context;
    grpc::Status status;
    v1::ClassifyResponse response;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ClassifyResponse>> reader;
  };
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Call>> all;
  for (int i = 0; i < calls; ++i) {
    all.push_back(std::make_unique<Call>());
    Call& call = *all.back();
    call.reader = running.classifier().AsyncClassify(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  Outcome outcome;
  for (int i = 0; i < calls; ++i) {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    const grpc::Status& status = static_cast<Call*>(tag)->status;
    if (status.ok()) {
      ++outcome.ok;
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && !status.error_details().empty()) {
      ++outcome.refused;
    } else {
      ++outcome.other;
      ADD_FAILURE() << status.error_code() << " " << status.error_message();
    }
  }
  queue.Shutdown();
  return outcome;
}

TEST(Overload, TheQueueIsBoundedByRequestsAndEveryRefusalIsTyped) {
  const TemporaryFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.admission.max_requests = 16;
  RunningServer running(options);
  const v1::ClassifyRequest request = PictureRequest("mixed", NoiseJpeg(200, 200, 1));
  const Outcome outcome = Burst(running, request, 1500);
  EXPECT_GE(outcome.ok, 16);
  EXPECT_GT(outcome.refused, 0) << "the burst did not overload the server: the test proved nothing";
  EXPECT_EQ(outcome.other, 0);
  EXPECT_EQ(running.Metric("vitrine_in_flight "), 0);
  EXPECT_EQ(running.Metric("vitrine_queue_depth "), 0);
  EXPECT_EQ(Burst(running, request, 8).ok, 8) << "afterwards it serves as before";
}

TEST(Overload, TheQueueIsBoundedByBytes) {
  const TemporaryFolder folder;
  PublishModel(folder.path(), "slow", SlowConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  const std::string picture = SlowPicture();
  options.admission.max_bytes = static_cast<int64_t>(picture.size()) * 3;
  RunningServer running(options);
  const Outcome outcome = Burst(running, PictureRequest("slow", picture), 12);
  EXPECT_GE(outcome.ok, 3);
  EXPECT_GT(outcome.refused, 0);
  EXPECT_EQ(outcome.other, 0);
}

}  // namespace
}  // namespace vitrine::testing
