// SPDX-License-Identifier: Apache-2.0
// Runs the interoperability cases with gRPC's C++ client. Usage: cpp_client HOST:PORT [CASE...].
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test.grpc.pb.h"

namespace {

using grpc::ClientContext;
using grpc::Status;
using grpc::StatusCode;
namespace gt = grpc::testing;

constexpr int kSent[] = {27182, 8, 1828, 45904};
constexpr int kAsked[] = {31415, 9, 2653, 58979};
constexpr char kInitial[] = "x-grpc-test-echo-initial";
constexpr char kTrailing[] = "x-grpc-test-echo-trailing-bin";

void Check(bool held, const std::string& what) {
  if (!held) throw std::runtime_error(what);
}
void CheckOk(const Status& status) {
  Check(status.ok(), std::to_string(status.error_code()) + " " + status.error_message());
}

std::chrono::system_clock::time_point In(std::chrono::milliseconds time) {
  return std::chrono::system_clock::now() + time;
}

// A context with a deadline of 20 s.
struct Context : ClientContext {
  Context() { set_deadline(In(std::chrono::seconds(20))); }
};

// Returns bytes that compress to more than a 64th of their size. The server rejects a higher compression ratio.
std::string Mixed(int size) {
  std::string bytes(size, '\0');
  for (int i = 0; i < size; i += 4) bytes[i] = static_cast<char>(i / 4), bytes[i + 1] = static_cast<char>(i / 1024);
  return bytes;
}

gt::SimpleRequest Large(bool zeros = true) {
  gt::SimpleRequest request;
  request.set_response_size(314159);
  request.mutable_payload()->set_body(zeros ? std::string(271828, '\0') : Mixed(271828));
  return request;
}

gt::StreamingOutputCallRequest Output(int size, int payload) {
  gt::StreamingOutputCallRequest request;
  request.add_response_parameters()->set_size(size);
  request.mutable_payload()->set_body(std::string(payload, '\0'));
  return request;
}

class Client {
 public:
  explicit Client(const std::string& address)
      : channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        stub_(gt::TestService::NewStub(channel_)) {}

  void EmptyUnary() {
    Context context;
    gt::Empty answer;
    CheckOk(stub_->EmptyCall(&context, gt::Empty(), &answer));
  }
  void LargeUnary() {
    Context context;
    CheckOk(Unary(context, Large()));
  }
  void ClientCompressedUnary() {
    gt::SimpleRequest request = Large(false);
    request.mutable_expect_compressed()->set_value(true);
    {
      Context context;
      context.set_compression_algorithm(GRPC_COMPRESS_NONE);
      Check(Unary(context, request).error_code() == StatusCode::INVALID_ARGUMENT, "it passes for compressed");
    }
    for (const bool value : {true, false}) {
      request.mutable_expect_compressed()->set_value(value);
      Context context;
      context.set_compression_algorithm(value ? GRPC_COMPRESS_GZIP : GRPC_COMPRESS_NONE);
      CheckOk(Unary(context, request));
    }
  }
  void ServerCompressedUnary() {
    for (const bool value : {true, false}) {
      gt::SimpleRequest request = Large();
      request.mutable_response_compressed()->set_value(value);
      Context context;
      CheckOk(Unary(context, request));
    }
  }
  void ClientStreaming() {
    Context context;
    gt::StreamingInputCallResponse answer;
    const auto stream = stub_->StreamingInputCall(&context, &answer);
    for (const int size : kSent) {
      gt::StreamingInputCallRequest request;
      request.mutable_payload()->set_body(std::string(size, '\0'));
      Check(stream->Write(request), "Write");
    }
    stream->WritesDone();
    CheckOk(stream->Finish());
    Check(answer.aggregated_payload_size() == 74922, "another sum");
  }
  void ClientCompressedStreaming() {
    gt::StreamingInputCallRequest request;
    request.mutable_expect_compressed()->set_value(true);
    request.mutable_payload()->set_body(Mixed(27182));
    {
      Context context;
      context.set_compression_algorithm(GRPC_COMPRESS_NONE);
      gt::StreamingInputCallResponse answer;
      const auto stream = stub_->StreamingInputCall(&context, &answer);
      stream->Write(request);
      stream->WritesDone();
      Check(stream->Finish().error_code() == StatusCode::INVALID_ARGUMENT, "it passes for compressed");
    }
    Context context;
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    gt::StreamingInputCallResponse answer;
    const auto stream = stub_->StreamingInputCall(&context, &answer);
    Check(stream->Write(request), "Write");
    request.mutable_expect_compressed()->set_value(false);
    request.mutable_payload()->set_body(std::string(45904, '\0'));
    Check(stream->Write(request, grpc::WriteOptions().set_no_compression()), "Write");
    stream->WritesDone();
    CheckOk(stream->Finish());
    Check(answer.aggregated_payload_size() == 73086, "another sum");
  }
  void ServerStreaming() { StreamOut({31415, 9, 2653, 58979}, false); }
  void ServerCompressedStreaming() { StreamOut({31415, 92653}, true); }
  void PingPong() {
    Context context;
    const auto stream = stub_->FullDuplexCall(&context);
    gt::StreamingOutputCallResponse answer;
    for (size_t i = 0; i < std::size(kSent); ++i) {
      Check(stream->Write(Output(kAsked[i], kSent[i])), "Write");
      Check(stream->Read(&answer), "Read");
      Check(static_cast<int>(answer.payload().body().size()) == kAsked[i], "another payload");
    }
    stream->WritesDone();
    Check(!stream->Read(&answer), "more than was asked for");
    CheckOk(stream->Finish());
  }
  void EmptyStream() {
    Context context;
    const auto stream = stub_->FullDuplexCall(&context);
    stream->WritesDone();
    gt::StreamingOutputCallResponse answer;
    Check(!stream->Read(&answer), "an answer");
    CheckOk(stream->Finish());
  }
  void CustomMetadata() {
    const std::string trailing("\x0a\x0b\x0a\x0b\x0a\x0b", 6);
    const auto look = [&](const ClientContext& context) {
      const auto initial = context.GetServerInitialMetadata().find(kInitial);
      Check(initial != context.GetServerInitialMetadata().end() && initial->second == "test_initial_metadata_value",
            "initial metadata");
      const auto last = context.GetServerTrailingMetadata().find(kTrailing);
      Check(last != context.GetServerTrailingMetadata().end() && last->second == trailing, "trailing metadata");
    };
    {
      Context context;
      context.AddMetadata(kInitial, "test_initial_metadata_value");
      context.AddMetadata(kTrailing, trailing);
      CheckOk(Unary(context, Large()));
      look(context);
    }
    Context context;
    context.AddMetadata(kInitial, "test_initial_metadata_value");
    context.AddMetadata(kTrailing, trailing);
    const auto stream = stub_->FullDuplexCall(&context);
    stream->Write(Output(314159, 271828));
    stream->WritesDone();
    gt::StreamingOutputCallResponse answer;
    Check(stream->Read(&answer) && !stream->Read(&answer), "not one answer");
    CheckOk(stream->Finish());
    look(context);
  }
  void StatusCodeAndMessage() { Ends("test status message"); }
  void SpecialStatusMessage() {
    Ends("\t\ntest with whitespace\r\nand Unicode BMP \xe2\x98\xba and non-BMP \xf0\x9f\x98\x88\t\n");
  }
  void UnimplementedMethod() {
    Context context;
    gt::Empty answer;
    Check(stub_->UnimplementedCall(&context, gt::Empty(), &answer).error_code() == StatusCode::UNIMPLEMENTED,
          "another code");
  }
  void UnimplementedService() {
    Context context;
    gt::Empty answer;
    const auto stub = gt::UnimplementedService::NewStub(channel_);
    Check(stub->UnimplementedCall(&context, gt::Empty(), &answer).error_code() == StatusCode::UNIMPLEMENTED,
          "another code");
  }
  void CancelAfterBegin() {
    Context context;
    gt::StreamingInputCallResponse answer;
    const auto stream = stub_->StreamingInputCall(&context, &answer);
    context.TryCancel();
    Check(stream->Finish().error_code() == StatusCode::CANCELLED, "another code");
  }
  void CancelAfterFirstResponse() {
    Context context;
    const auto stream = stub_->FullDuplexCall(&context);
    stream->Write(Output(31415, 27182));
    gt::StreamingOutputCallResponse answer;
    Check(stream->Read(&answer), "no answer");
    context.TryCancel();
    Check(stream->Finish().error_code() == StatusCode::CANCELLED, "another code");
  }
  void TimeoutOnSleepingServer() {
    ClientContext context;
    context.set_deadline(In(std::chrono::milliseconds(1)));
    const auto stream = stub_->FullDuplexCall(&context);
    gt::StreamingOutputCallRequest request = Output(31415, 27182);
    request.mutable_response_parameters(0)->set_interval_us(500000);
    stream->Write(request);
    gt::StreamingOutputCallResponse answer;
    while (stream->Read(&answer)) {
    }
    Check(stream->Finish().error_code() == StatusCode::DEADLINE_EXCEEDED, "another code");
  }
  void ConcurrentLargeUnary() {
    std::vector<std::thread> threads;
    std::vector<std::string> faults(100);
    for (std::string& fault : faults) {
      threads.emplace_back([this, &fault] {
        try {
          LargeUnary();
        } catch (const std::exception& why) {
          fault = why.what();
        }
      });
    }
    for (std::thread& each : threads) each.join();
    for (const std::string& fault : faults) Check(fault.empty(), fault);
  }

 private:
  Status Unary(ClientContext& context, const gt::SimpleRequest& request) {
    gt::SimpleResponse answer;
    const Status status = stub_->UnaryCall(&context, request, &answer);
    if (status.ok()) Check(answer.payload().body() == std::string(request.response_size(), '\0'), "another payload");
    return status;
  }
  void StreamOut(const std::vector<int>& sizes, bool first_compressed) {
    gt::StreamingOutputCallRequest request;
    for (const int size : sizes) {
      gt::ResponseParameters& each = *request.add_response_parameters();
      each.set_size(size);
      if (first_compressed) each.mutable_compressed()->set_value(request.response_parameters_size() == 1);
    }
    Context context;
    const auto stream = stub_->StreamingOutputCall(&context, request);
    gt::StreamingOutputCallResponse answer;
    for (const int size : sizes) {
      Check(stream->Read(&answer) && static_cast<int>(answer.payload().body().size()) == size, "another payload");
    }
    Check(!stream->Read(&answer), "more than was asked for");
    CheckOk(stream->Finish());
  }
  void Ends(const std::string& sentence) {
    gt::SimpleRequest request;
    request.mutable_response_status()->set_code(2);
    request.mutable_response_status()->set_message(sentence);
    Context context;
    const Status unary = Unary(context, request);
    Check(unary.error_code() == StatusCode::UNKNOWN && unary.error_message() == sentence, unary.error_message());
    Context other;
    const auto stream = stub_->FullDuplexCall(&other);
    gt::StreamingOutputCallRequest output;
    *output.mutable_response_status() = request.response_status();
    stream->Write(output);
    stream->WritesDone();
    gt::StreamingOutputCallResponse answer;
    while (stream->Read(&answer)) {
    }
    const Status ended = stream->Finish();
    Check(ended.error_code() == StatusCode::UNKNOWN && ended.error_message() == sentence, ended.error_message());
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<gt::TestService::Stub> stub_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string(arguments[1]) == "--version") {
    std::puts(grpc::Version().c_str());
    return 0;
  }
  Client client(arguments[1]);
  const std::set<std::string> only(arguments + 2, arguments + count);
  const std::pair<const char*, void (Client::*)()> cases[] = {
      {"empty_unary", &Client::EmptyUnary},
      {"large_unary", &Client::LargeUnary},
      {"client_compressed_unary", &Client::ClientCompressedUnary},
      {"server_compressed_unary", &Client::ServerCompressedUnary},
      {"client_streaming", &Client::ClientStreaming},
      {"client_compressed_streaming", &Client::ClientCompressedStreaming},
      {"server_streaming", &Client::ServerStreaming},
      {"server_compressed_streaming", &Client::ServerCompressedStreaming},
      {"ping_pong", &Client::PingPong},
      {"empty_stream", &Client::EmptyStream},
      {"custom_metadata", &Client::CustomMetadata},
      {"status_code_and_message", &Client::StatusCodeAndMessage},
      {"special_status_message", &Client::SpecialStatusMessage},
      {"unimplemented_method", &Client::UnimplementedMethod},
      {"unimplemented_service", &Client::UnimplementedService},
      {"cancel_after_begin", &Client::CancelAfterBegin},
      {"cancel_after_first_response", &Client::CancelAfterFirstResponse},
      {"timeout_on_sleeping_server", &Client::TimeoutOnSleepingServer},
      {"concurrent_large_unary", &Client::ConcurrentLargeUnary}};
  int failed = 0;
  for (const auto& [name, run] : cases) {
    if (!only.empty() && !only.contains(name)) continue;
    try {
      (client.*run)();
      std::printf("%s ok\n", name);
    } catch (const std::exception& fault) {
      ++failed;
      std::printf("%s failed %s\n", name, fault.what());
    }
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}
