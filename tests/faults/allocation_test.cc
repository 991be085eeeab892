// SPDX-License-Identifier: Apache-2.0
// Memory that runs out anywhere on the way of a request: the request is answered, and the server goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "inference/grpc_service.grpc.pb.h"
#include "server/serve/scheduling/peer_accounts.h"
#include "tests/e2e/published.h"
#include "tests/e2e/running_server.h"
#include "tests/faults/failing_allocator.h"

namespace vitrine::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int kMostAllocations = 2000;

v1::ClassifyRequest RichRequest(v1::AttentionEncoding encoding) {
  v1::ClassifyRequest request = PictureRequest("mixed", NoiseJpeg(24, 24, 1));
  request.set_request_id("the picture of a caller whose names are long");
  v1::AttentionRequest& row = *request.add_attention();
  row.set_kind(v1::CLASS_TOKEN_ROW);
  row.set_encoding(encoding);
  request.add_features()->set_kind(v1::CLASS_TOKEN);
  return request;
}

// As pixels of one colour, which gRPC's client compresses; of what does not shrink it sends the plain message.
v1::ClassifyRequest CompressibleRequest() {
  v1::ClassifyRequest request = RichRequest(v1::FLOAT16);
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_data_type(v1::RawTensor::DATA_UINT8);
  tensor.set_height(16);
  tensor.set_width(16);
  tensor.set_channels(3);
  tensor.set_data(std::string(size_t{16} * 16 * 3, 'x'));
  return request;
}

inference::ModelInferRequest TwoPictures() {
  inference::ModelInferRequest request;
  request.set_model_name("mixed");
  request.set_id("two pictures of a caller whose names are long");
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("UINT8");
  for (const int64_t side : {2, 16, 16, 3}) input.add_shape(side);
  request.add_raw_input_contents(std::string(size_t{2} * 16 * 16 * 3, 'x'));
  return request;
}

class Allocations : public ::testing::Test {
 protected:
  Allocations() {
    PublishModel(folder_.path(), "mixed", MixedConfig());
    ServerOptions options = TestOptions(folder_.path());
    // With limits of its own, which every decision on a batch looks up.
    options.registry.serving_config =
        settings_.Write("serving", "models { model: 'mixed' batching { max_batch_images: 4 } }");
    options.executor.threads = 1;
    options.http = "127.0.0.1:0";
    options.log_level = "warning";
    options.probe.interval = absl::Hours(1);  // its pictures would take part in the count
    running_ = std::make_unique<RunningServer>(options);
    infer_ = inference::GRPCInferenceService::NewStub(running_->channel());
  }

  // Sends the request again and again while its first, second, third ... allocation fails, until all of them have; or
  // only every `step`-th.
  void EachMayFail(const std::function<grpc::Status()>& send, int step = 1) {
    for (int i = 0; i < 3; ++i) {
      const grpc::Status status = send();
      ASSERT_TRUE(status.ok()) << status.error_message();
    }
    int refused = 0, n = 1;
    for (; n < kMostAllocations * step; n += step) {
      FailAllocation(n);
      const grpc::Status status = send();
      const bool failed = StopFailing();
      ASSERT_THAT(status.error_code(), AnyOf(Eq(grpc::StatusCode::OK), Eq(grpc::StatusCode::RESOURCE_EXHAUSTED)))
          << "allocation " << n << ": " << status.error_message();
      if (!status.ok()) {
        ++refused;
        EXPECT_THAT(status.error_message(),
                    AnyOf(HasSubstr("the server has no memory left for this request"), Eq("out of memory")))
            << "allocation " << n;
      }
      if (!failed) break;
    }
    EXPECT_LT(n, kMostAllocations * step) << "the request never went through untouched";
    EXPECT_GT(refused, n / step / 2) << "few allocations matter; do they fail on the way of a request at all?";
    // More in a row than calls are asked for ahead: each asks for the next although memory fails it at first.
    for (int i = 0; i < 200; ++i) {
      FailAllocation(1 + i % 3);
      const grpc::Status status = send();
      StopFailing();
      ASSERT_THAT(status.error_code(), AnyOf(Eq(grpc::StatusCode::OK), Eq(grpc::StatusCode::RESOURCE_EXHAUSTED)))
          << i << ": " << status.error_message();
    }
    const grpc::Status status = send();
    EXPECT_TRUE(status.ok()) << status.error_message();
    NothingIsHeld();
    EXPECT_GE(running_->Metric("vitrine_out_of_memory_total "), refused);
  }

  // The whole of a request over HTTP; its answer as gRPC would have given it.
  grpc::Status AskOverHttp(const std::string& request) {
    const std::string answer = HttpExchange(running_->server().http_address(), request);
    if (absl::StartsWith(answer, "HTTP/1.1 200 ")) return grpc::Status::OK;
    const bool refused = absl::StartsWith(answer, "HTTP/1.1 429 ") || absl::StartsWith(answer, "HTTP/1.1 503 ");
    EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
    const std::string said = answer.substr(answer.find("\r\n\r\n") + 4);
    return grpc::Status(refused ? grpc::StatusCode::RESOURCE_EXHAUSTED : grpc::StatusCode::UNKNOWN,
                        said == "out of memory\n" ? "out of memory" : said);
  }

  grpc::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse& response,
                        grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    return running_->classifier().Classify(&context, request, &response);
  }

  // On a stream a refusal is the answer of its request, or the end of the stream.
  grpc::Status ClassifyOnAStream(const v1::ClassifyRequest& request, grpc_compression_algorithm compression) {
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const auto stream = running_->classifier().ClassifyStream(&context);
    stream->Write(request);
    stream->WritesDone();
    v1::ClassifyStreamResponse answer;
    if (!stream->Read(&answer)) {
      const grpc::Status status = stream->Finish();
      EXPECT_FALSE(status.ok()) << "neither answered nor refused";
      return status;
    }
    EXPECT_EQ(answer.request_id(), request.request_id());
    v1::ClassifyStreamResponse more;
    EXPECT_FALSE(stream->Read(&more));
    const grpc::Status status = stream->Finish();
    if (!status.ok() || answer.has_response()) return status;
    return grpc::Status(static_cast<grpc::StatusCode>(answer.error().code()), answer.error().message());
  }

  // All of them are in flight at once. The answers come in their order; a refusal takes its place among them, or ends
  // the stream there.
  grpc::Status InferOnAStream(int requests, grpc_compression_algorithm compression) {
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const auto stream = infer_->ModelStreamInfer(&context);
    inference::ModelInferRequest request = TwoPictures();
    const std::string id = request.id();
    for (int i = 0; i < requests; ++i) {
      request.set_id(absl::StrCat(id, i));
      stream->Write(request);
    }
    stream->WritesDone();
    grpc::Status refusal;
    int answers = 0;
    for (inference::ModelStreamInferResponse answer; stream->Read(&answer); ++answers) {
      const std::string& error = answer.error_message();
      if (error.empty()) {
        EXPECT_EQ(answer.infer_response().id(), absl::StrCat(id, answers));
        continue;
      }
      EXPECT_THAT(answer.infer_response().id(), AnyOf(Eq(absl::StrCat(id, answers)), Eq("")));
      const bool is_memory = absl::StartsWith(error, "RESOURCE_EXHAUSTED");
      refusal = grpc::Status(is_memory ? grpc::StatusCode::RESOURCE_EXHAUSTED : grpc::StatusCode::UNKNOWN, error);
    }
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(!status.ok() || answers == requests) << answers << " answers, and the stream ended well";
    return status.ok() ? refusal : status;
  }

  void NothingIsHeld() {
    for (const char* gauge : {"vitrine_in_flight ", "vitrine_in_flight_bytes ", "vitrine_queue_depth ",
                              "vitrine_queue_bytes ", "vitrine_queue_tokens ", "vitrine_answer_bytes "}) {
      EXPECT_TRUE(Eventually([&] { return running_->Metric(gauge) == 0; })) << gauge << running_->Metric(gauge);
    }
  }

  ~Allocations() override {
    const Server::Counts counts = running_->server().Drain();
    EXPECT_EQ(counts.answered, counts.accepted);
  }

  const ScratchFolder folder_;
  const ScratchFolder settings_;
  std::unique_ptr<RunningServer> running_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> infer_;
};

TEST_F(Allocations, OfClassify) {
  const v1::ClassifyRequest request = RichRequest(v1::FLOAT16);
  v1::ClassifyResponse first;
  ASSERT_TRUE(running_->Classify(request, &first).ok());
  EachMayFail([&] {
    v1::ClassifyResponse response;
    const grpc::Status status = Classify(request, response);
    if (status.ok()) {
      EXPECT_EQ(response.attention(0).values(), first.attention(0).values());
      EXPECT_EQ(response.features(0).values(), first.features(0).values());
      EXPECT_EQ(response.predictions(0).logit(), first.predictions(0).logit());
    }
    return status;
  });
}

// Its caption alone takes thousands, a few for each letter.
TEST_F(Allocations, OfAnOverlay) {
  const v1::ClassifyRequest request = RichRequest(v1::OVERLAY_PNG);
  EachMayFail(
      [&] {
        v1::ClassifyResponse response;
        return Classify(request, response);
      },
      /*step=*/37);
}

TEST_F(Allocations, OfClassifyCompressed) {
  const v1::ClassifyRequest request = CompressibleRequest();
  EachMayFail([&] {
    v1::ClassifyResponse response;
    return Classify(request, response, GRPC_COMPRESS_GZIP);
  });
}

TEST_F(Allocations, OfClassifyStream) {
  const v1::ClassifyRequest request = RichRequest(v1::FLOAT16);
  EachMayFail([&] { return ClassifyOnAStream(request, GRPC_COMPRESS_NONE); });
}

TEST_F(Allocations, OfClassifyStreamCompressed) {
  const v1::ClassifyRequest request = CompressibleRequest();
  EachMayFail([&] { return ClassifyOnAStream(request, GRPC_COMPRESS_GZIP); });
}

TEST_F(Allocations, OfModelInfer) {
  const inference::ModelInferRequest request = TwoPictures();
  EachMayFail([&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    inference::ModelInferResponse response;
    return infer_->ModelInfer(&context, request, &response);
  });
}

TEST_F(Allocations, OfModelStreamInfer) {
  EachMayFail([this] { return InferOnAStream(1, GRPC_COMPRESS_NONE); });
}

TEST_F(Allocations, OfModelStreamInferWithSeveralInFlight) {
  EachMayFail([this] { return InferOnAStream(4, GRPC_COMPRESS_NONE); });
}

TEST_F(Allocations, OfModelStreamInferCompressed) {
  EachMayFail([this] { return InferOnAStream(2, GRPC_COMPRESS_GZIP); });
}

// Numbers in JSON, there and back.
TEST_F(Allocations, OfHttpInfer) {
  std::string body = R"({"id":"a picture of a caller whose names are long","inputs":[{"name":"image",)"
                     R"("datatype":"UINT8","shape":[1,16,16,3],"data":[7)";
  for (int i = 1; i < 16 * 16 * 3; ++i) body += ",7";
  body += "]}]}";
  const std::string request = absl::StrCat(
      "POST /v2/models/mixed/infer HTTP/1.1\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  EachMayFail([&] { return AskOverHttp(request); });
}

// A picture as it is, and numbers back.
TEST_F(Allocations, OfHttpClassify) {
  const std::string picture = NoiseJpeg(24, 24, 1);
  const std::string request = absl::StrCat(
      "POST /v1/models/mixed:classify?attention=mean&attention_encoding=float&request_id=a%20picture%20of%20a%20caller",
      "%20whose%20names%20are%20long HTTP/1.1\r\nConnection: close\r\nContent-Length: ", picture.size(), "\r\n\r\n",
      picture);
  EachMayFail([&] { return AskOverHttp(request); });
}

// The table of places outlives the request that found no memory for its own.
TEST(PeerAccounts, HoldWhereMemoryRunsOut) {
  std::thread([] {
    pthread_setname_np(pthread_self(), "calls");
    int failures = 0;
    for (int n = 1; n < 20; ++n) {
      PeerAccounts accounts(SteadyClock());
      std::map<int, std::string> given;
      for (int place = 0; place < 40; ++place) {
        const std::string peer = absl::StrCat("ipv4:10.0.0.", place, ":5000");
        const Caller caller;
        FailAllocation(n);
        try {
          given[place] = accounts.AccountOf(caller, peer);
        } catch (const std::bad_alloc&) {
          ++failures;
        }
        StopFailing();
      }
      for (const auto& [place, account] : given) {
        EXPECT_EQ(accounts.AccountOf({}, absl::StrCat("ipv4:10.0.0.", place, ":6000")), account);
      }
    }
    EXPECT_GT(failures, 0);
  }).join();
}

}  // namespace
}  // namespace vitrine::testing
