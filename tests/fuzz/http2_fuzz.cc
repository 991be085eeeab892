// SPDX-License-Identifier: Apache-2.0
// Sends arbitrary frames of HTTP/2, or requests of HTTP/1, to a connection of the transport, whose handler answers at
// once, later or never. Stream handlers must be called as their contract says. RunFuzzConnection has further checks.
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "tests/fuzz/fuzz_connection.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

// Sends the parts of one response.
struct Sender {
  std::shared_ptr<HttpStream> stream;
  std::shared_ptr<int> token;
  bool has_begun = false;

  void Send(std::string bytes, bool is_last) {
    HttpStream::Part part = {.bytes = std::move(bytes), .is_last = is_last, .held = token};
    if (!std::exchange(has_begun, true)) part.head = {{":status", "200"}, {"content-type", "text/plain"}};
    if (is_last) part.trailers = {{"grpc-status", "0"}};
    stream->Send(std::move(part));
  }
};

// State of the server of one connection.
struct Kept {
  FuzzServer server;
  const std::shared_ptr<int> work = std::make_shared<int>(0);  // every function given to a worker holds a copy
  std::string network;                                         // the client's network, under which work is queued
  std::vector<Sender> streams;                                 // responses whose last part is not sent yet
  Mutex mutex;
  std::vector<std::shared_ptr<HttpReply>> replies ABSL_GUARDED_BY(mutex);
};

// Answers a request before its body arrives, sends the body back, or leaves the response to Act().
class Answering final : public HttpStreamHandler {
 public:
  enum class Way { kEarly, kEcho, kSilent };

  Answering(Sender sender, Way way) : sender_(std::move(sender)), way_(way) {
    sender_.stream->SetBodyAwaited(true);
    if (way_ == Way::kEarly) sender_.Send("", true);
  }

  void OnData(absl::string_view bytes) override {
    Require(!has_ended_ && !is_closed_);
    if (way_ != Way::kSilent) sender_.stream->Consume(bytes.size());
    if (way_ == Way::kEcho) sender_.Send(std::string(bytes), false);
  }
  void OnEnd() override {
    Require(!std::exchange(has_ended_, true) && !is_closed_);
    if (way_ == Way::kEcho) sender_.Send("the end", true);
  }
  void OnTooSlow() override {
    Require(!has_ended_ && !is_closed_);
    sender_.stream->Reset(8);
  }
  void OnClosed(bool is_answered) override {
    Require(!std::exchange(is_closed_, true) && (!is_answered || has_ended_ || way_ != Way::kEcho));
  }

 private:
  Sender sender_;
  const Way way_;
  bool has_ended_ = false, is_closed_ = false;
};

HttpHandling Handle(const HttpRequest& request, Kept& kept) {
  kept.network = request.peer->network;
  const std::string& path = request.path();
  const std::shared_ptr<int> token = kept.server.token;
  if (path == "/large") return HttpHandling::Answer({.body = std::string(100'000, 'x'), .held = token});
  if (path == "/make") {
    return HttpHandling::Make([token, work = kept.work] { return HttpResponse{.body = "made", .held = token}; });
  }
  if (path == "/early" || path == "/echo" || path == "/silent") {
    using Way = Answering::Way;
    const Way way = path == "/early" ? Way::kEarly : path == "/echo" ? Way::kEcho : Way::kSilent;
    return HttpHandling::Stream([token, way, &kept](std::shared_ptr<HttpStream> stream) {
      const Sender sender = {std::move(stream), token};
      if (way == Way::kSilent) kept.streams.push_back(sender);
      return std::make_shared<Answering>(sender, way);
    });
  }
  if (path == "/read" || path == "/keep") {
    return HttpHandling::Read([token, work = kept.work, is_kept = path == "/keep", &kept](
                                  const absl::StatusOr<std::string>& body, const std::shared_ptr<HttpReply>& reply) {
      if (is_kept) {
        MutexLock lock(kept.mutex);
        return kept.replies.push_back(reply);
      }
      const std::string size = body.ok() ? absl::StrCat(body->size()) : std::string(body.status().message());
      reply->Send([&] { return HttpResponse{.code = body.ok() ? 200 : 400, .body = size, .held = token}; });
    });
  }
  return HttpHandling::Answer({.code = 404, .type = kPlainText, .body = path.substr(0, 64)});
}

void Act(uint8_t what, Kept& kept) {
  std::vector<std::shared_ptr<HttpReply>> replies;
  {
    MutexLock lock(kept.mutex);
    replies.swap(kept.replies);
  }
  for (const auto& each : what % 2 == 0 ? replies : std::vector<std::shared_ptr<HttpReply>>()) {
    each->Send([] { return HttpResponse{.body = "kept"}; });
  }
  if (what == kDropAll) return kept.streams.clear();
  if (kept.streams.empty()) return;
  const auto chosen = kept.streams.begin() + what / 8 % static_cast<int>(kept.streams.size());
  if (what % 8 < 2) chosen->Send(std::string(100U * what, 'x'), what % 8 == 1);
  if (what % 8 == 2) chosen->stream->Consume(what);
  if (what % 8 == 3) chosen->stream->Reset(what / 16);
  if (what % 8 == 4) chosen->stream->SetBodyAwaited(what > 127);
  if (what % 8 == 1) kept.streams.erase(chosen);
}

// Waits until the two workers have done their work. At most one of them handles bodies.
void Settle(Workers& workers, const Kept& kept) {
  if (kept.work.use_count() == 1) return;
  const auto bodies = std::make_shared<std::latch>(1), others = std::make_shared<std::latch>(2);
  workers.Do(
      kept.network, [bodies] { bodies->count_down(); }, /*on_a_body=*/true);
  bodies->wait();
  for (int i = 0; i < 2; ++i) workers.Do(kept.network, [others] { others->arrive_and_wait(); });
  others->wait();
}

FuzzRequests MakeRequests() {
  FuzzRequests made;
  for (const char* path : {"/large", "/make", "/other%41?query", "/%zz"}) made.Add("GET", path);
  for (const char* path : {"/early", "/echo", "/silent", "/read", "/keep"}) made.Add("POST", path);
  made.Add("HEAD", "/large");
  for (const char* path : {"/early", "/echo"}) made.Add("POST", path, {{"content-type", "application/grpc"}});
  made.names = {"content-length",
                "content-encoding",
                "content-type",
                "transfer-encoding",
                "host",
                ":path",
                ":method",
                "expect",
                "connection",
                "te",
                "x",
                "cookie"};
  return made;
}

}  // namespace
}  // namespace vitrine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto& requests = *new vitrine::FuzzRequests(vitrine::MakeRequests());
  vitrine::Kept kept;
  vitrine::FuzzServer& server = kept.server;
  server.handler = [&kept](const auto& request) { return vitrine::Handle(*request, kept); };
  server.received = std::make_shared<vitrine::ByteBudget>(20'000);
  server.act = [&kept](uint8_t what) { vitrine::Act(what, kept); };
  server.settle = [&kept](vitrine::HttpCommon& common) { vitrine::Settle(*common.workers, kept); };
  vitrine::RunFuzzConnection({reinterpret_cast<const char*>(data), size}, requests, server);
  return 0;
}
