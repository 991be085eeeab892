// SPDX-License-Identifier: Apache-2.0
// Sends arbitrary metadata and messages to a gRPC server on a connection of the transport. The server must call the
// functions of each call in the order that GrpcCall states, and metadata must be read as it was written.
// RunFuzzConnection checks the other requirements.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/grpc_wire.h"
#include "server/wire/rpc/single_call.h"
#include "tests/fuzz/fuzz_connection.h"
#include "tests/fuzz/fuzz_rounds.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

constexpr int64_t kMostMessage = 32 << 10;

class RoundsClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::UnixEpoch() + absl::FromChrono(FuzzRounds::Now().time_since_epoch()); }
};

// State of the server of one connection.
struct Kept {
  FuzzServer server;
  std::string network;                         // the client's network, under which work is queued
  std::vector<std::function<void()>> resumes;  // for each stream, a function that resumes reading
};
Kept* kept = nullptr;

// Returns metadata for the answer. Requires that the metadata of the request is read as it was written.
void Echo(const HttpHead& head, HttpHeaders& initial, HttpHeaders& trailing) {
  for (const auto& [name, value] : head.headers) {
    const auto timeout = ParseGrpcTimeout(value);
    Require(!timeout.has_value() || *timeout >= absl::ZeroDuration());
    const std::string encoded = PercentEncoded(value);
    Require(encoded.size() <= kMaxGrpcMessageBytes);
    Require(std::all_of(encoded.begin(), encoded.end(), [](char each) { return each >= ' ' && each <= '~'; }));
    HttpHead written;
    written.headers = {{"a-bin", BinaryValue(value)}, {"A-Bin", BinaryValue("")}};
    Require(*BinaryMetadataOf(written, "a-bin") == std::vector<std::string>{value, ""});
  }
  for (const std::string& value : MetadataOf(head, "x-echo")) initial.emplace_back("x-echo", value);
  const auto values = BinaryMetadataOf(head, "x-echo-bin");
  if (!values.ok()) return Require(absl::IsInvalidArgument(values.status()));
  for (const std::string& value : *values) trailing.emplace_back("x-echo-bin", BinaryValue(value));
}

// Returns the error that a message requests with 'F', the code and the text. Returns OK for any other message.
absl::Status Demanded(const std::string& bytes) {
  if (bytes.size() < 2 || bytes[0] != 'F') return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(static_cast<uint8_t>(bytes[1]) % 17), bytes.substr(2));
}

class Unary final : public SingleCall {
 public:
  explicit Unary(const GrpcOpening& opening) : SingleCall(opening, kMostMessage), token_(kept->server.token) {
    Echo(request().head, initial_metadata_, trailing_metadata_);
  }

 private:
  void OnRequest(absl::StatusOr<MessageBytes> message) override {
    Require(!std::exchange(has_request_, true));
    if (!message.ok()) return Finish(message.status(), token_);
    Require((*message)->bytes.size() <= kMostMessage);
    if (const absl::Status status = Demanded((*message)->bytes); !status.ok()) return Finish(status, token_);
    Compress(GrpcFrame(EncodedMessage{(*message)->bytes}),
             [self = std::static_pointer_cast<Unary>(shared_from_this())](std::string frame) {
               self->FinishWith(std::move(frame), self->token_);
             });
  }

  const std::shared_ptr<int> token_;
  bool has_request_ = false;
};

class Stream final : public GrpcCall {
 public:
  explicit Stream(const GrpcOpening& opening) : GrpcCall(opening, kMostMessage, false), token_(kept->server.token) {
    Echo(request().head, initial_metadata_, trailing_metadata_);
  }

 private:
  void Start() override {
    kept->resumes.push_back([self = std::weak_ptr<GrpcCall>(shared_from_this())] {
      if (const auto call = self.lock(); call != nullptr) static_cast<Stream&>(*call).ResumeReading();
    });
  }
  void OnMessage(absl::StatusOr<MessageBytes> message) override {
    Require(!is_reading_.exchange(true) && !has_ended_);
    if (!message.ok()) {
      Finish(message.status());
    } else if (const absl::Status status = Demanded((*message)->bytes); !status.ok()) {
      Finish(status);
    } else {
      if ((*message)->bytes.starts_with('P')) PauseReading();
      SendMessage(GrpcFrame(EncodedMessage{(*message)->bytes}), token_);
    }
    is_reading_ = false;
  }
  void OnHalfClosed() override {
    Require(!is_reading_ && !has_ended_.exchange(true));
    Finish(absl::OkStatus());
  }
  void OnGone() override { Require(!std::exchange(is_gone_, true)); }

  const std::shared_ptr<int> token_;
  std::atomic<bool> is_reading_ = false, has_ended_ = false;
  bool is_gone_ = false;
};

GrpcServer& Server() {
  static GrpcServer& server = *[] {
    auto* made = new GrpcServer(
        {.max_message_bytes = kMostMessage, .received = std::make_shared<ByteBudget>(int64_t{3} * kMostMessage)},
        *new RoundsClock());
    made->Add("/a.Service/Unary", [](const GrpcOpening& opening) { return std::make_shared<Unary>(opening); });
    made->Add("/a.Service/Stream", [](const GrpcOpening& opening) { return std::make_shared<Stream>(opening); });
    Require(made->Start().ok());
    return made;
  }();
  return server;
}

// Ends calls whose deadline has passed, and waits until the worker has done its work.
void Settle() {
  Server().EndExpiredCalls();
  const auto done = std::make_shared<std::latch>(1);
  const Workers::Result queued = Server().body_workers().Do(kept->network, [done] { done->count_down(); });
  if (queued == Workers::Result::kQueued) done->wait();
}

FuzzRequests MakeRequests() {
  FuzzRequests made;
  for (const char* path : {"/a.Service/Unary", "/a.Service/Stream", "/a.Service/No"}) {
    made.Add("POST", path, {{"te", "trailers"}, {"content-type", "application/grpc"}});
  }
  made.names = {"grpc-timeout", "grpc-encoding", "grpc-accept-encoding", "x-echo-bin",
                "x-echo",       "content-type",  "x-request-id"};
  return made;
}

}  // namespace
}  // namespace vitrine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Server;
  static const auto& requests = *new vitrine::FuzzRequests(vitrine::MakeRequests());
  vitrine::Kept own;
  vitrine::kept = &own;
  own.server.handler = [&own](const auto& request) {
    own.network = request->peer->network;
    return Server().Takes(*request) ? Server().Begin(request) : vitrine::HttpHandling::Answer({.code = 404});
  };
  own.server.received = Server().options().received;
  own.server.act = [](uint8_t) {
    for (const auto& resume : vitrine::kept->resumes) resume();
  };
  own.server.settle = [](vitrine::HttpCommon&) { vitrine::Settle(); };
  vitrine::RunFuzzConnection({reinterpret_cast<const char*>(data), size}, requests, own.server);
  vitrine::kept = nullptr;
  return 0;
}
