// SPDX-License-Identifier: Apache-2.0
#include "client/lib/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>

#include "absl/time/clock.h"
#include "client/commands/image_run.h"
#include "client/lib/status.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

TEST(Connect, SaysThatNoServerAnswers) {
  const std::string address = LastingAddress();
  const absl::Time start = absl::Now();
  const auto client = Client::Connect({.address = address});
  EXPECT_EQ(client.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(client.status().message(), "no server answers at " + address);
  EXPECT_LT(absl::Now() - start, absl::Seconds(4)) << "a refused connection must fail without waiting";
}

TEST(Connect, RefusesBadOptions) {
  EXPECT_THAT(Client::Connect({.address = ""}).status().ToString(), HasSubstr("address"));
  EXPECT_THAT(Client::Connect({.max_in_flight = 65}).status().ToString(), HasSubstr("max_in_flight is 65"));
  EXPECT_THAT(Client::Connect({.deadline = absl::ZeroDuration()}).status().ToString(), HasSubstr("deadline"));
}

TEST(ClientOptions, AreValidUpToTheirBounds) {
  const auto valid = [](auto change) {
    ClientOptions options;
    change(options);
    return options.Validate().ok();
  };
  for (const int most : {1, 64}) EXPECT_TRUE(valid([&](auto& options) { options.max_in_flight = most; })) << most;
  for (const int most : {0, 65}) EXPECT_FALSE(valid([&](auto& options) { options.max_in_flight = most; })) << most;
  for (const int64_t bytes : {int64_t{1}, int64_t{1} << 30}) {
    EXPECT_TRUE(valid([&](auto& options) { options.max_request_bytes = options.max_response_bytes = bytes; })) << bytes;
  }
  for (const int64_t bytes : {int64_t{0}, (int64_t{1} << 30) + 1}) {
    EXPECT_FALSE(valid([&](auto& options) { options.max_request_bytes = bytes; })) << bytes;
    EXPECT_FALSE(valid([&](auto& options) { options.max_response_bytes = bytes; })) << bytes;
  }
  for (const absl::Duration time : {absl::ZeroDuration(), absl::Seconds(-1)}) {
    EXPECT_FALSE(valid([&](auto& options) { options.deadline = time; }));
    EXPECT_FALSE(valid([&](auto& options) { options.connect_timeout = time; }));
  }
  EXPECT_TRUE(valid([&](auto& options) { options.deadline = options.connect_timeout = absl::Nanoseconds(1); }));
  EXPECT_TRUE(valid([&](auto& options) { options.keepalive = absl::Seconds(10); }));
  for (const absl::Duration time :
       {absl::Nanoseconds(1), absl::Seconds(10) - absl::Nanoseconds(1), absl::Seconds(-1)}) {
    EXPECT_FALSE(valid([&](auto& options) { options.keepalive = time; })) << time;
  }
  EXPECT_TRUE(valid([](auto& options) { options.token = "a"; }));
  EXPECT_TRUE(valid([](auto& options) { options.token_file = "a"; }));
  EXPECT_FALSE(valid([](auto& options) { options.token = options.token_file = "a"; }));
  const auto pair = [&](const char* certificate, const char* key) {
    return valid([&](auto& options) { options.tls = TlsOptions{.certificate_file = certificate, .key_file = key}; });
  };
  EXPECT_TRUE(pair("", "") && pair("a", "b"));
  EXPECT_FALSE(pair("a", "") || pair("", "b"));
  EXPECT_FALSE(valid([](auto& options) { options.retry.max_attempts = 0; }));
}

TEST(Classify, ReturnsTheAnswer) {
  const SmallServer server({.classify = [](const auto& request, auto* response, auto*) {
    *response = AnswerTo(request);
    return grpc::Status::OK;
  }});
  const auto answer = ConnectTo(server)->Classify(RequestWith("7", "mine"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->predictions(0).index(), 7);
  EXPECT_EQ(answer->request_id(), "mine");
}

// Like vitrine-server, the test's server returns INVALID_ARGUMENT if top_k exceeds the number of classes.
TEST(ProbeLabels, FindsTheLabelsOfOneOrManyClasses) {
  for (const int classes : {1, 2, 9, 10, 11, 37}) {
    const SmallServer server({.classify = [&](const auto& request, auto* response, auto*) {
      if (request.top_k() > classes) return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "top_k");
      for (int index = 0; index < static_cast<int>(request.top_k()); ++index) {
        v1::Prediction& guess = *response->add_predictions();
        guess.set_index(index);
        guess.set_label(std::to_string(index));
      }
      return grpc::Status::OK;
    }});
    const auto labels = ProbeLabels(*ConnectTo(server), {.name = "m"});
    ASSERT_TRUE(labels.ok()) << labels.status();
    ASSERT_EQ(labels->size(), static_cast<size_t>(classes));
    EXPECT_EQ(labels->back(), std::to_string(classes - 1));
  }
  const SmallServer refusing(
      {.classify = [](const auto&, auto*, auto*) { return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no"); }});
  EXPECT_EQ(ProbeLabels(*ConnectTo(refusing), {.name = "m"}).status(), absl::InvalidArgumentError("no"));
}

TEST(FromGrpc, KeepsErrorsThatAProxyMayReturn) {
  const std::string http = "Received http2 header with status: ";
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNAUTHENTICATED, http + "401"}), absl::UnauthenticatedError(http + "401"));
  EXPECT_EQ(FromGrpc({grpc::StatusCode::PERMISSION_DENIED, http + "403"}), absl::PermissionDeniedError(http + "403"));
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNAVAILABLE, http + "503"}), absl::UnavailableError(http + "503"));
  EXPECT_THAT(std::string(FromGrpc({grpc::StatusCode::UNIMPLEMENTED, http + "404"}).message()),
              testing::HasSubstr("does not speak gRPC"));
}

TEST(FromGrpc, ExplainsAnErrorOfAListenerThatIsNotForClients) {
  for (const char* method :
       {"vitrine.v1.Registry/ListModels", "vitrine.v1.Classifier/Classify", "grpc.health.v1.Health/Check"}) {
    const std::string said = absl::StrCat("there is no method /", method, " here");
    EXPECT_EQ(FromGrpc({grpc::StatusCode::UNIMPLEMENTED, said}),
              absl::UnimplementedError("the server does not have this call (" + said +
                                       "); the port there may be that of vitrine-server --admin or --health-listen: "
                                       "give the host:port of --listen"));
  }
  const std::string other = "there is no method /vitrine.v1.Admin/GetServing here";
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNIMPLEMENTED, other}), absl::UnimplementedError(other));
}

TEST(Classify, KeepsTheServersCodeMessageAndDelay) {
  std::atomic<int> calls = 0;
  const SmallServer server({.classify = [&](const auto&, auto*, auto*) {
    ++calls;
    return WithRetryInfo(grpc::StatusCode::INVALID_ARGUMENT, "top_k is 25", absl::Milliseconds(1500));
  }});
  const absl::Status status = ConnectTo(server)->Classify(RequestWith("7")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "top_k is 25");
  EXPECT_EQ(ServerRetryDelay(status), absl::Milliseconds(1500));
  EXPECT_EQ(calls, 1) << "an invalid request must not be retried";
}

TEST(Classify, RetriesAfterTheServersDelay) {
  std::atomic<int> calls = 0;
  const SmallServer server({.classify = [&](const auto& request, auto* response, auto*) {
    *response = AnswerTo(request);
    if (++calls <= 2) {
      return WithRetryInfo(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(150));
    }
    return grpc::Status::OK;
  }});
  const absl::Time start = absl::Now();
  const auto answer = ConnectTo(server)->Classify(RequestWith("7"));
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(calls, 3);
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(300));
}

TEST(Classify, DoesNotWaitBeyondItsDeadline) {
  const SmallServer server({.classify = [&](const auto&, auto*, auto*) {
    return WithRetryInfo(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Minutes(1));
  }});
  const absl::Time start = absl::Now();
  const auto answer = ConnectTo(server)->Classify(RequestWith("7"));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST(Classify, SendsTheDeadlineToTheServer) {
  const SmallServer server({.classify = [&](const auto&, auto*, grpc::ServerContext* context) {
    EXPECT_LT(absl::FromChrono(context->deadline()) - absl::Now(), absl::Milliseconds(250));
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  }});
  const auto answer = ConnectTo(server, absl::Milliseconds(200))->Classify(RequestWith("7"));
  EXPECT_EQ(answer.status(), absl::DeadlineExceededError("no answer within 200ms"));
}

TEST(Classify, RejectsATooLargeRequestWithoutSendingIt) {
  const SmallServer server({});
  auto client = Client::Connect({.address = server.address(), .max_request_bytes = 1000});
  ASSERT_TRUE(client.ok());
  const auto answer = (*client)->Classify(RequestWith(std::string(1001, 'x')));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(answer.status().ToString(), HasSubstr("at most 1000"));
}

TEST(Trace, EveryCallHasTheTraceOfTheOptionsOrItsOwn) {
  const auto told = [](grpc::ServerContext* context) {
    std::string all;
    const auto [begin, end] = context->client_metadata().equal_range("traceparent");
    for (auto it = begin; it != end; ++it) all += "[" + std::string(it->second.data(), it->second.size()) + "]";
    return all;
  };
  const SmallServer server({.classify =
                                [&](const auto&, auto* response, auto* context) {
                                  response->add_predictions()->set_label(told(context));
                                  return grpc::Status::OK;
                                },
                            .stream =
                                [&](StreamOfServer* stream, auto* context) {
                                  for (v1::ClassifyRequest request; stream->Read(&request);) {
                                    v1::ClassifyStreamResponse answer = StreamAnswerTo(request);
                                    answer.mutable_response()->mutable_predictions(0)->set_label(told(context));
                                    stream->Write(answer);
                                  }
                                  return grpc::Status::OK;
                                }});
  const auto label = [](const absl::StatusOr<v1::ClassifyResponse>& answer) {
    return answer.ok() ? answer->predictions(0).label() : answer.status().ToString();
  };
  const std::string first = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const std::string second = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  EXPECT_EQ(label(ConnectTo(server)->Classify(RequestWith("7"))), "");
  EXPECT_EQ(label(ConnectTo(server)->Classify(RequestWith("7"), second)), "[" + second + "]");
  const auto client = Client::Connect({.address = server.address(), .traceparent = first});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(label((*client)->Classify(RequestWith("7"))), "[" + first + "]");
  EXPECT_EQ(label((*client)->Classify(RequestWith("7"), second)), "[" + second + "]")
      << "there must be only one traceparent, because servers ignore two";
  int left = 2;
  const RequestSource source = [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
    if (left-- == 0) return std::nullopt;
    return RequestWith("7");
  };
  EXPECT_TRUE(
      (*client)
          ->ClassifyMany(source, [&](size_t, const auto& answer) { EXPECT_EQ(label(answer), "[" + first + "]"); })
          .ok());
  EXPECT_THAT((*client)->Classify(RequestWith("7"), "00-xyz").status().ToString(),
              HasSubstr("\"00-xyz\" is no traceparent; the form is VERSION-TRACEID-SPANID-FLAGS"));
  EXPECT_THAT(Client::Connect({.traceparent = first + " "}).status().ToString(), HasSubstr("is no traceparent"));
}

TEST(Balancing, OnlyServersOfAListThatAreServingGetRequests) {
  std::array<std::atomic<int>, 3> asked{};
  const auto counting = [&](int server, std::optional<bool> serving) {
    return SmallServer::Methods{.classify =
                                    [&asked, server](const auto& request, auto* response, auto*) {
                                      ++asked[server];
                                      *response = AnswerTo(request);
                                      return grpc::Status::OK;
                                    },
                                .serving = serving};
  };
  const SmallServer serving(counting(0, true)), loading(counting(1, false)), without(counting(2, std::nullopt));
  ClientOptions options;
  options.address = absl::StrCat(serving.address(), ",", loading.address(), ",", without.address());
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok()) << client.status();
  const absl::Time end = absl::Now() + absl::Seconds(10);
  // Sends requests until each of the two servers that may get requests has received one.
  while ((asked[0] == 0 || asked[2] == 0) && absl::Now() < end) ASSERT_TRUE((*client)->Classify(RequestWith("1")).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*client)->Classify(RequestWith("1")).ok());
  EXPECT_EQ(asked[1], 0) << "a server that is still loading got a request";
  EXPECT_GE(asked[0], 5);
  EXPECT_GE(asked[2], 5);
}

TEST(Registry, ListsAndReturnsModels) {
  v1::ListModelsResponse models;
  for (const int version : {1, 2}) {
    v1::ModelVersion& added = *models.add_versions();
    added.set_model("m");
    added.set_version(version);
    added.set_state(version == 1 ? v1::RETIRING : v1::READY);
  }
  const SmallServer server({.models = models});
  const auto client = ConnectTo(server);
  EXPECT_EQ(client->ListModels()->versions_size(), 2);
  EXPECT_EQ(client->GetModel("m")->version(), 2);
  EXPECT_EQ(client->GetModel("m", 1)->version(), 1);
  EXPECT_EQ(client->GetModel("n").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace vitrine
