// SPDX-License-Identifier: Apache-2.0
// Tests vitrine-server --device cuda:0 with the fake driver. The answers, with images of mixed sizes and with
// attention, must equal those of a server on the CPU. Also tests a replaced version and a drain under load, and the
// exit code after a lost device.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file/replace.h"
#include "server/process/end_process.h"
#include "server/registry/device.h"
#include "tests/e2e/testing/child_server.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Not;
using ::testing::Pointwise;

constexpr int kSizes[][2] = {{16, 16}, {24, 16}, {16, 32}, {32, 32}, {40, 24}, {20, 60}};

class CudaServer : public ::testing::Test {
 protected:
  CudaServer() {
    setenv("LD_LIBRARY_PATH", VITRINE_TESTS "/cuda", 1);
    std::filesystem::create_directories(Repository());
    PublishModel(Repository(), "mixed", MixedConfig());
    PublishModel(Repository(), "fixed", FixedConfig());
  }
  ~CudaServer() override {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("VITRINE_FAKE_GPU");
  }

  std::filesystem::path Repository() const { return folder_.path() / "repository"; }
  // Starts a server. `settings` are for the fake driver.
  std::unique_ptr<ChildServer> Start(const std::string& device, const std::string& settings = "",
                                     const std::vector<std::string>& flags = {}) const {
    setenv("VITRINE_FAKE_GPU", settings.c_str(), 1);
    const std::filesystem::path output = folder_.path() / device;
    std::filesystem::create_directories(output);
    std::vector<std::string> arguments = {"--repository", Repository(), "--listen", "127.0.0.1:0",     "--metrics",
                                          "127.0.0.1:0",  "--device",   device,     "--poll-interval", "200ms"};
    // The emulator takes long to allocate memory for larger batches.
    if (device != "cpu") {
      arguments.insert(arguments.end(), {"--device-batch-images", "16", "--device-batch-tokens", "1024"});
    }
    // The server rejects a flag that is given twice.
    const auto add_unless_given = [&](const std::string& flag, const std::string& value) {
      if (std::find(flags.begin(), flags.end(), flag) == flags.end()) {
        arguments.insert(arguments.end(), {flag, value});
      }
    };
    add_unless_given("--probe-interval", "1s");
    // The emulator can take longer for a batch than the default time limit.
    if (device != "cpu") add_unless_given("--device-batch-timeout", "60s");
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return std::make_unique<ChildServer>(output, arguments);
  }
  static std::string Get(const ChildServer& server, const std::string& path) {
    return HttpExchange(server.metrics_address(),
                        absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  }
  static std::unique_ptr<v1::Classifier::Stub> Connect(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::Classifier::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  static v1::ClassifyResponse Classify(v1::Classifier::Stub& stub, const v1::ClassifyRequest& request) {
    grpc::ClientContext context;
    v1::ClassifyResponse response;
    const grpc::Status status = stub.Classify(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  const ScratchFolder folder_;
};

// Returns the value of a metric without labels. Fails the test if there is no such metric.
double MetricOf(const std::string& scrape, const std::string& name) {
  const size_t at = scrape.find(absl::StrCat("\n", name, " "));
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? NAN : std::atof(scrape.c_str() + at + name.size() + 2);
}

std::vector<float> LogitsOf(const v1::ClassifyResponse& response) {
  std::map<int, float> by_class;
  for (const v1::Prediction& prediction : response.predictions()) by_class[prediction.index()] = prediction.logit();
  std::vector<float> logits;
  for (const auto& [index, logit] : by_class) logits.push_back(logit);
  return logits;
}

std::vector<float> MapOf(const v1::ClassifyResponse& response) {
  if (response.attention_size() != 1) return {};
  const std::string& bytes = response.attention(0).values();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(CudaServer, AgreesWithTheCpuForMixedSizesAndAttention) {
  const auto cuda = Start("cuda:0"), cpu = Start("cpu");
  const auto on_cuda = Connect(cuda->AwaitReady(absl::Minutes(1))), on_cpu = Connect(cpu->AwaitReady());
  std::vector<v1::ClassifyRequest> requests;
  for (const auto& [width, height] : kSizes) {
    for (const char* const model : {"mixed", "fixed"}) {
      v1::ClassifyRequest request =
          ImageRequest(model, NoiseJpeg(width, height, static_cast<uint32_t>(requests.size()) + 1));
      request.set_top_k(7);
      requests.push_back(request);
      v1::AttentionRequest* const attention = request.add_attention();
      attention->set_kind(std::string(model) == "mixed" ? v1::CLASS_TOKEN_ROW : v1::WEIGHTS);
      attention->set_encoding(v1::FLOAT32);
      requests.push_back(request);
    }
  }
  std::vector<v1::ClassifyResponse> answers(requests.size());
  {
    std::vector<std::jthread> callers;
    for (size_t i = 0; i < requests.size(); ++i) {
      callers.emplace_back([&, i] { answers[i] = Classify(*on_cuda, requests[i]); });
    }
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(requests[i].ShortDebugString().substr(0, 40));
    const v1::ClassifyResponse expected = Classify(*on_cpu, requests[i]);
    EXPECT_EQ(answers[i].served_by().device(), "cuda:0");
    const std::vector<float> logits = LogitsOf(expected);
    EXPECT_GE(logits.size(), 7u);
    EXPECT_THAT(LogitsOf(answers[i]), Pointwise(FloatNear(1e-4F), logits));
    EXPECT_EQ(answers[i].attention_size(), requests[i].attention_size());
    EXPECT_THAT(MapOf(answers[i]), Pointwise(FloatNear(1e-4F), MapOf(expected)));
  }
}

TEST_F(CudaServer, SwapsAndDrainsUnderLoad) {
  const auto server = Start("cuda:0");
  const std::string address = server->AwaitReady(absl::Minutes(1));
  const std::string image = NoiseJpeg(32, 24, 1);
  std::vector<std::vector<float>> expected = {{}};
  for (const int version : {1, 2}) expected.push_back(LogitsAlone(HashedModel(MixedConfig(), version), image));
  std::atomic<int> answered[3] = {};
  std::atomic<int> refused = 0, failed = 0;
  std::atomic<bool> ending = false;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const auto stub = Connect(address);
      while (true) {
        grpc::ClientContext context;
        v1::ClassifyRequest request = ImageRequest("mixed", image);
        request.set_top_k(7);
        v1::ClassifyResponse response;
        if (const grpc::Status status = stub->Classify(&context, request, &response); !status.ok()) {
          const bool is_end = status.error_code() == grpc::StatusCode::UNAVAILABLE && ending;
          ++(is_end ? refused : failed);
          EXPECT_TRUE(is_end) << status.error_message();
          return;
        }
        const auto version = static_cast<size_t>(response.served_by().version());
        ++answered[version];
        EXPECT_THAT(LogitsOf(response), Pointwise(FloatNear(1e-4F), expected[version]));
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return answered[1] > 5; }));
  PublishModel(Repository(), "mixed", MixedConfig(), 2);
  EXPECT_TRUE(Eventually([&] { return answered[2] > 5; }, absl::Minutes(2))) << server->Output();
  ending = true;
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0) << server->Output();
  callers.clear();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(refused, 4);
}

TEST_F(CudaServer, ComputesInBf16WhatHasAPlanForIt) {
  std::filesystem::copy(VITRINE_SOURCE "/models/bundled/kv-pos-mnist", Repository() / "kv-pos-mnist",
                        std::filesystem::copy_options::recursive);
  const auto server = Start("cuda:0");
  const auto stub = Connect(server->AwaitReady(absl::Minutes(1)));
  const std::string image = NoiseJpeg(28, 28, 1);
  EXPECT_EQ(Classify(*stub, ImageRequest("kv-pos-mnist", image)).served_by().precision(), "bf16");
  EXPECT_EQ(Classify(*stub, ImageRequest("fixed", image)).served_by().precision(), "fp32");
  EXPECT_THAT(server->Output(), HasSubstr("its manifest does not allow bf16 on this device"));
}

TEST_F(CudaServer, BatchesTheImagesOfManyCallers) {
  const auto server = Start("cuda:0", "kernel_us=500", {"--executors", "8"});
  const std::string address = server->AwaitReady(absl::Minutes(1));
  const std::string image = NoiseJpeg(16, 16, 1);
  const std::string before = Get(*server, "/metrics");
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&] {
        const auto stub = Connect(address);
        for (int request = 0; request < 10; ++request) Classify(*stub, ImageRequest("mixed", image));
      });
    }
  }
  std::string after;
  const auto grown = [&](const std::string& name) { return MetricOf(after, name) - MetricOf(before, name); };
  // Polls, because the server may return a cached scrape.
  EXPECT_TRUE(Eventually([&] {
    after = Get(*server, "/metrics");
    return grown("vitrine_device_images_total") >= 80;
  }));
  EXPECT_GT(grown("vitrine_device_images_total"), 1.5 * grown("vitrine_device_batches_total"));
  EXPECT_GE(grown("vitrine_device_uploaded_bytes_total"), 80 * 16 * 16 * 3 * sizeof(float));
  EXPECT_GT(grown("vitrine_device_busy_seconds_total"), 0);
  EXPECT_GT(MetricOf(after, "vitrine_device_memory_used_bytes"), 0);
  EXPECT_LT(MetricOf(after, "vitrine_device_memory_used_bytes"), MetricOf(after, "vitrine_device_memory_bytes"));
  for (const char* const kind : {"device", "pinned"}) {
    const std::string name =
        absl::StrCat("vitrine_model_memory_bytes{model=\"mixed\",version=\"1\",kind=\"", kind, "\"}");
    EXPECT_GT(MetricOf(after, name), 0);
  }
  EXPECT_THAT(Get(*server, "/statusz"), AllOf(HasSubstr("\"gpu\": {"), HasSubstr("\"memory_used_bytes\": ")));
}

TEST_F(CudaServer, ALostDeviceEndsTheServerWithItsCode) {
  const auto server = Start("cuda:0", "lost=200");
  const auto stub = Connect(server->AwaitReady(absl::Minutes(1)));
  const std::string image = NoiseJpeg(16, 16, 1);
  grpc::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    grpc::ClientContext context;
    v1::ClassifyResponse response;
    status = stub->Classify(&context, ImageRequest("mixed", image), &response);
  }
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(server->Wait(), kExitDevice) << server->Output();
  EXPECT_THAT(server->Output(), HasSubstr("the device is lost"));
}

// Sends requests until one fails. Returns the status of the failed request. The deadline of each request, 8 s, is above
// the server's --device-batch-timeout of 3 s.
grpc::Status ClassifyUntilFailure(v1::Classifier::Stub& stub) {
  const v1::ClassifyRequest request = ImageRequest("mixed", NoiseJpeg(16, 16, 1));
  grpc::Status status;
  while (status.ok()) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
    v1::ClassifyResponse response;
    status = stub.Classify(&context, request, &response);
  }
  return status;
}

TEST_F(CudaServer, AKernelThatNeverEndsLosesTheDevice) {
  const auto server = Start("cuda:0", "hang=2000", {"--device-batch-timeout", "3s"});
  const auto stub = Connect(server->AwaitReady(absl::Minutes(1)));
  const grpc::Status status = ClassifyUntilFailure(*stub);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("the device of this server is lost"));
  EXPECT_EQ(server->Wait(), kExitDevice) << server->Output();
}

// The drain deadline passes before the batch counts as lost. The caller must still get the error of a lost device, and
// the exit code must be that of a lost device.
TEST_F(CudaServer, ADrainBehindAKernelThatNeverEndsEndsWithTheCodeOfALostDevice) {
  const auto server = Start("cuda:0", "hang=2000", {"--device-batch-timeout", "3s", "--drain-deadline", "500ms"});
  const auto stub = Connect(server->AwaitReady(absl::Minutes(1)));
  grpc::Status status;
  std::jthread caller([&] { status = ClassifyUntilFailure(*stub); });
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(server->Output(), "a kernel hangs"); }, absl::Minutes(1)));
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), kExitDevice) << server->Output();
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("the device of this server is lost"));
  EXPECT_THAT(server->Output(), AllOf(HasSubstr("stopped"), Not(HasSubstr("probe: the device is lost"))));
}

// No request runs. The process ends before the batch of the load counts as lost, so it cannot distinguish a hung
// load from a slow one.
TEST_F(CudaServer, AServerEndsDuringALoadThatNeverEndsAndNamesTheVersion) {
  std::filesystem::remove_all(Repository() / "fixed");
  const auto server = Start("cuda:0", "hang=1");
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(server->Output(), "a kernel hangs"); }, absl::Minutes(1)));
  server->Signal(SIGTERM);
  EXPECT_EQ(server->Wait(), 0) << server->Output();
  EXPECT_THAT(server->Output(), HasSubstr("the process ends while versions are loading versions=mixed/1"));
}

// Drains a server in this process while the batch of a load hangs. Removes `folder`, because no destructor will.
void DrainDuringALoad(const std::filesystem::path& repository, const std::filesystem::path& folder) {
  ServerOptions options = TestOptions(repository);
  options.device = "cuda:0";
  options.device_batch = {.images = 16, .tokens = 1024, .timeout = absl::Seconds(2)};
  const auto server = Server::Start(options);
  if (!Eventually([] { return StatusOf({.kind = Device::Kind::kCuda})->batches > 0; }, absl::Minutes(1)))
    std::_Exit(99);
  std::filesystem::remove_all(folder);
  std::cerr << "the drain begins" << std::endl;
  (*server)->Drain();
}

// The batch counts as lost after all requests are answered. vitrine-server would wait only kEndPatience for the load;
// here the server has no such limit, so a late loss has the same result.
TEST_F(CudaServer, ALoadThatLosesTheDeviceAfterTheDrainEndsTheServerWithItsCode) {
  std::filesystem::remove_all(Repository() / "fixed");
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the test in a new process, with the variables set here
  setenv("VITRINE_FAKE_GPU", "hang=1", 1);
  EXPECT_EXIT(DrainDuringALoad(Repository(), folder_.path()), ::testing::ExitedWithCode(kExitDevice),
              "the drain begins");
}

// Calls the server until `version` or a later version answers. Returns false if the server has ended. Appends the
// errors of the calls to `errors`.
bool Answers(ChildServer& server, const v1::ClassifyRequest& request, int64_t version, std::string& errors) {
  static const std::regex kAddress("listening on (\\S+) \\(gRPC");
  bool answered = false;
  EXPECT_TRUE(Eventually(
      [&] {
        const std::string output = server.Output();
        std::smatch address;
        if (server.Ended()) return true;
        if (!std::regex_search(output, address, kAddress)) return false;
        const auto stub = v1::Classifier::NewStub(grpc::CreateChannel(address[1], grpc::InsecureChannelCredentials()));
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
        v1::ClassifyResponse response;
        const grpc::Status status = stub->Classify(&context, request, &response);
        errors += status.error_message();
        answered = status.ok() && response.served_by().version() >= version;
        return answered;
      },
      absl::Minutes(2)))
      << server.Output();
  return answered;
}

// Starts three servers, each of which loads models, answers, and loads the next version. One driver call of each server
// fails. Without a failure, the first load has about the calls 1 to 785, the requests have the calls 840 to 1155, and
// the next load has the calls 1156 to 1610. Each of these ranges has one failing call. Periodic probes would add calls,
// so their interval is longer than the test. Requests also arrive during the next load, so the third failing call may
// belong to a load or to a request.
TEST_F(CudaServer, AfterAFailedDriverCallItAnswersAgainOrEnds) {
  const v1::ClassifyRequest request = ImageRequest("mixed", NoiseJpeg(16, 16, 1));
  for (const auto& [nth, log] : {std::pair(400, "load failed"), {1000, "batch failed"}, {1250, "failed"}}) {
    SCOPED_TRACE(absl::StrCat("call ", nth));
    const auto server = Start("cuda:0", absl::StrCat("fail=", nth), {"--probe-interval", "1h"});
    std::string errors;
    bool lives = Answers(*server, request, 1, errors);
    for (int i = 0; i < 20 && lives; ++i) lives = Answers(*server, request, 1, errors);
    if (lives) {
      const int64_t version = PublishModel(Repository(), "mixed", MixedConfig(), 2).version;
      lives = Answers(*server, request, version, errors);
    }
    if (!lives) {
      EXPECT_THAT(server->Wait(), AllOf(Gt(0), Lt(128))) << server->Output();
    }
    EXPECT_THAT(server->Output(), AllOf(HasSubstr(log), HasSubstr("CUDA_ERROR_INVALID_VALUE"))) << errors;
  }
}

TEST_F(CudaServer, ADeviceLostDuringTheFirstLoadEndsTheServer) {
  const auto server = Start("cuda:0", "lost=1");
  EXPECT_EQ(server->Wait(), kExitDevice) << server->Output();
}

}  // namespace
}  // namespace vitrine::testing
