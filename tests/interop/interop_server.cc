// SPDX-License-Identifier: Apache-2.0
// Serves the TestService of gRPC's interoperability tests on this server's transport.
// Usage: interop_server HOST:PORT [LOOPS=2]. LOOPS: number of threads that read and write connections.
// Prints the address, and ends when its standard input is closed.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/http/byte_budget.h"
#include "common/http/server.h"
#include "messages.pb.h"
#include "server/process/clock.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/grpc_wire.h"
#include "server/wire/rpc/transport_options.h"
#include "test.pb.h"

namespace vitrine::testing {
namespace {

namespace gt = grpc::testing;

// Records for each message of a request, in order, whether it was compressed. GrpcCall does not report this.
class Flags {
 public:
  void Look(absl::string_view bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    while (!bytes.empty()) {
      if (prefix_.size() < kGrpcPrefixBytes) {
        prefix_.push_back(bytes.front());
        bytes.remove_prefix(1);
        if (prefix_.size() < kGrpcPrefixBytes) continue;
        flags_.push_back(prefix_[0] == 1);
        for (int i = 1; i <= 4; ++i) left_ = left_ << 8 | static_cast<uint8_t>(prefix_[i]);
      }
      const size_t taken = std::min(left_, bytes.size());
      bytes.remove_prefix(taken);
      left_ -= taken;
      if (left_ == 0) prefix_.clear();
    }
  }
  bool Next() {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool flag = flags_.front();
    flags_.pop_front();
    return flag;
  }

 private:
  std::mutex mutex_;
  std::string prefix_;
  size_t left_ = 0;
  std::deque<bool> flags_;
};

class FlagReader final : public HttpStreamHandler {
 public:
  FlagReader(std::shared_ptr<HttpStreamHandler> to, std::shared_ptr<Flags> flags)
      : to_(std::move(to)), flags_(std::move(flags)) {}
  void OnData(absl::string_view bytes) override {
    flags_->Look(bytes);
    to_->OnData(bytes);
  }
  void OnEnd() override { to_->OnEnd(); }
  void OnTooSlow() override { to_->OnTooSlow(); }
  void OnClosed(bool is_answered) override { to_->OnClosed(is_answered); }

 private:
  const std::shared_ptr<HttpStreamHandler> to_;
  const std::shared_ptr<Flags> flags_;
};

constexpr int kLargest = 4 << 20;  // maximum size of a payload in bytes

enum class Method { kEmpty, kUnary, kInput, kOutput, kFullDuplex, kHalfDuplex };

class TestCall final : public GrpcCall {
 public:
  TestCall(const GrpcOpening& opening, Method method, std::shared_ptr<Flags> flags)
      : GrpcCall(opening, opening.server.options().max_message_bytes, false),
        method_(method),
        flags_(std::move(flags)) {
    const HttpHead& head = request().head;
    for (const std::string& value : MetadataOf(head, "x-grpc-test-echo-initial")) {
      initial_metadata_.emplace_back("x-grpc-test-echo-initial", value);
    }
    const absl::StatusOr<std::vector<std::string>> trailing = BinaryMetadataOf(head, "x-grpc-test-echo-trailing-bin");
    if (trailing.ok()) {
      for (const std::string& value : *trailing) {
        trailing_metadata_.emplace_back("x-grpc-test-echo-trailing-bin", BinaryValue(value));
      }
    }
    accepts_gzip_ = HasEncoding(request().Header("grpc-accept-encoding").value_or(""), "gzip");
    if (accepts_gzip_ && !this->opening().wants_gzip) initial_metadata_.emplace_back("grpc-encoding", "gzip");
  }

 private:
  // A message to send, or the end of the call.
  struct Step {
    std::string frame = {};
    int interval_us = 0;
    std::optional<gt::EchoStatus> end = {};
  };

  void Start() override {
    if (method_ != Method::kOutput && method_ != Method::kFullDuplex && method_ != Method::kHalfDuplex) return;
    // A stream needs a thread, because the server pauses between the responses.
    std::thread([self = std::static_pointer_cast<TestCall>(shared_from_this())] { self->SendSteps(); }).detach();
  }

  void OnMessage(absl::StatusOr<MessageBytes> message) override {
    const bool was_compressed = flags_->Next();
    if (!message.ok()) return Finish(message.status());
    const std::string& bytes = (*message)->bytes;
    switch (method_) {
      case Method::kEmpty:
        return;
      case Method::kUnary: {
        if (!simple_.ParseFromString(bytes)) return Finish(absl::InvalidArgumentError("no SimpleRequest"));
        if (simple_.has_expect_compressed() && simple_.expect_compressed().value() != was_compressed) {
          Finish(absl::InvalidArgumentError("the message's compression is not what it says"));
        }
        return;
      }
      case Method::kInput: {
        gt::StreamingInputCallRequest input;
        if (!input.ParseFromString(bytes)) return Finish(absl::InvalidArgumentError("no StreamingInputCallRequest"));
        if (input.has_expect_compressed() && input.expect_compressed().value() != was_compressed) {
          return Finish(absl::InvalidArgumentError("the message's compression is not what it says"));
        }
        sum_ += static_cast<int>(input.payload().body().size());
        return;
      }
      default:
        break;
    }
    gt::StreamingOutputCallRequest output;
    if (!output.ParseFromString(bytes)) return Finish(absl::InvalidArgumentError("no StreamingOutputCallRequest"));
    for (const gt::ResponseParameters& each : output.response_parameters()) {
      gt::StreamingOutputCallResponse response;
      *response.mutable_payload() = PayloadOf(each.size());
      Push({.frame = Framed(response, each.compressed().value()), .interval_us = each.interval_us()});
    }
    if (output.has_response_status()) Push({.end = output.response_status()});
  }

  void OnHalfClosed() override {
    switch (method_) {
      case Method::kEmpty:
        return FinishWith(GrpcFrame(gt::Empty()));
      case Method::kUnary: {
        if (simple_.has_response_status() && simple_.response_status().code() != 0) {
          return End(simple_.response_status());
        }
        gt::SimpleResponse response;
        *response.mutable_payload() = PayloadOf(simple_.response_size());
        return FinishWith(Framed(response, simple_.response_compressed().value()));
      }
      case Method::kInput: {
        gt::StreamingInputCallResponse response;
        response.set_aggregated_payload_size(sum_);
        return FinishWith(GrpcFrame(response));
      }
      default:
        Push({.end = gt::EchoStatus()});
    }
  }

  void OnGone() override {
    std::lock_guard<std::mutex> lock(mutex_);
    is_gone_ = true;
    changed_.notify_all();
  }

  static gt::Payload PayloadOf(int size) {
    gt::Payload payload;
    payload.mutable_body()->assign(std::clamp(size, 0, kLargest), '\0');
    return payload;
  }

  std::string Framed(const google::protobuf::MessageLite& message, bool compressed) const {
    std::string frame = GrpcFrame(message);
    return compressed && accepts_gzip_ ? GzipFrame(std::move(frame)) : frame;
  }

  // Ends the call with exactly this status. Finish() would hide the messages of UNKNOWN and INTERNAL.
  void End(const gt::EchoStatus& status) {
    if (status.code() == 0) return Finish(absl::OkStatus());
    HttpStream::Part part = {.is_last = true};
    HttpHeaders& to = has_sent_ ? part.trailers : part.head;
    if (!has_sent_) {
      to = {{":status", "200"}, {"content-type", "application/grpc"}};
      for (const auto& each : initial_metadata_) to.push_back(each);
    }
    to.emplace_back("grpc-status", std::to_string(status.code()));
    to.emplace_back("grpc-message", PercentEncoded(status.message()));
    for (const auto& each : trailing_metadata_) to.push_back(each);
    opening().stream->Send(std::move(part));
  }

  void Push(Step step) {
    std::lock_guard<std::mutex> lock(mutex_);
    steps_.push_back(std::move(step));
    changed_.notify_all();
  }

  void SendSteps() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return is_gone_ || !steps_.empty(); });
      if (is_gone_) return;
      const Step step = std::move(steps_.front());
      steps_.pop_front();
      if (changed_.wait_for(lock, std::chrono::microseconds(step.interval_us), [this] { return is_gone_; })) return;
      lock.unlock();
      if (step.end.has_value()) return End(*step.end);
      has_sent_ = true;
      SendMessage(step.frame);
    }
  }

  const Method method_;
  const std::shared_ptr<Flags> flags_;
  bool accepts_gzip_ = false;
  gt::SimpleRequest simple_;  // used only by the reading thread
  int sum_ = 0;               // used only by the reading thread
  bool has_sent_ = false;     // used only by the sending thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Step> steps_;
  bool is_gone_ = false;
};

int Run(const std::string& listen, int loops) {
  // All other limits, also the budget of received bytes, are those of vitrine-server without flags.
  const TransportOptions transport = {.max_message_bytes = kLargest};
  const auto received = std::make_shared<ByteBudget>(transport.max_transport_bytes);
  GrpcServer grpc({.max_message_bytes = kLargest, .received = received, .keeps_metadata = true}, SteadyClock());
  // Flags of the request that this thread is opening.
  thread_local std::shared_ptr<Flags> flags;
  const std::pair<const char*, Method> methods[] = {{"EmptyCall", Method::kEmpty},
                                                    {"UnaryCall", Method::kUnary},
                                                    {"CacheableUnaryCall", Method::kUnary},
                                                    {"StreamingInputCall", Method::kInput},
                                                    {"StreamingOutputCall", Method::kOutput},
                                                    {"FullDuplexCall", Method::kFullDuplex},
                                                    {"HalfDuplexCall", Method::kHalfDuplex}};
  for (const auto& [name, method] : methods) {
    grpc.Add(std::string("/grpc.testing.TestService/") + name, [method = method](const GrpcOpening& opening) {
      return std::make_shared<TestCall>(opening, method, flags);
    });
  }
  if (!grpc.Start().ok()) return 1;
  HttpServerOptions options = ToHttpServerOptions(transport);
  options.listen = listen;
  options.loops = loops;
  options.received = received;
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(options, [&grpc](const std::shared_ptr<HttpRequest>& request) {
        HttpHandling next = grpc.Begin(request);
        if (!next.open) return next;
        return HttpHandling::Stream(
            [open = std::move(next.open)](std::shared_ptr<HttpStream> stream) -> std::shared_ptr<HttpStreamHandler> {
              flags = std::make_shared<Flags>();
              std::shared_ptr<HttpStreamHandler> handler = open(std::move(stream));
              return handler == nullptr ? nullptr : std::make_shared<FlagReader>(std::move(handler), flags);
            });
      });
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", std::string(server.status().message()).c_str());
    return 1;
  }
  std::printf("%s\n", (*server)->address().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  (*server)->Shutdown(absl::Seconds(1));
  return 0;
}

}  // namespace
}  // namespace vitrine::testing

int main(int count, char** arguments) {
  return vitrine::testing::Run(count > 1 ? arguments[1] : "127.0.0.1:0", count > 2 ? std::atoi(arguments[2]) : 2);
}
