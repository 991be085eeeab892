// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/http1_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/http/protocol/http1.h"
#include "common/http/protocol/response_text.h"

namespace vitrine {
namespace {

// Maximum number of steps per call of Advance, so that other connections are not delayed.
constexpr int kStepsAtOnce = 16;
// Maximum number of reads, at shutdown, for a request that may have arrived completely. A read takes up to 16 KiB if
// the length of the body is unknown.
constexpr int kLastReads = 8;

}  // namespace

// Sends the handler's response. Keeps the connection and its protocol alive.
class Http1Session::Reply final : public HttpReply {
 public:
  Reply(std::shared_ptr<Watched> connection, Http1Session& to) : connection_(std::move(connection)), to_(to) {}
  ~Reply() override {
    if (connection_ == nullptr) return;
    Give({.code = 503,
          .type = kPlainText,
          .body = "the server could not answer; try again\n",
          .headers = {{"Retry-After", "1"}}});
  }

  void Send(absl::FunctionRef<HttpResponse()> make) override {
    if (connection_ != nullptr) Give(make());
  }

 private:
  void Give(HttpResponse response) {
    {
      MutexLock lock(to_.mutex_);
      to_.reply_ = std::move(response);
    }
    std::exchange(connection_, nullptr)->Wake();
  }

  std::shared_ptr<Watched> connection_;  // null after the response was sent
  Http1Session& to_;
};

void Http1Session::OnReady(bool, bool, bool failed) {
  if (failed && phase_ == Phase::kWorking) {  // the client can no longer read the response
    if (request_ != nullptr) request_->hung_up->store(true, std::memory_order_release);
    return connection_.Close(CloseReason::kClient);
  }
  Advance();
}

void Http1Session::Advance() {
  may_read_ = true;
  for (int i = 0; i < kStepsAtOnce && !connection_.is_closed(); ++i) {
    Step step = Step::kWait;
    switch (phase_) {
      case Phase::kHead:
        step = ReadHead();
        break;
      case Phase::kBody:
        step = ReadBody();
        break;
      case Phase::kWorking:
        step = WatchClient();
        break;
      case Phase::kSending:
        step = SendMore();
        break;
    }
    if (step == Step::kWait && Keep()) return Await();
  }
  if (connection_.is_closed()) return;
  (void)Keep();
  Await();
  connection_.Wake();  // continues after the events of other connections
}

void Http1Session::Await() {
  const bool waits_to_write = waits_for_ == Next::kAwaitWritable;
  if (phase_ == Phase::kSending) return connection_.Await(!waits_to_write, waits_to_write);
  const bool reads = !is_gone_ && (phase_ != Phase::kWorking || unparsed_.size() < kMostAhead);
  connection_.Await(reads && !waits_to_write, waits_to_write);
}

void Http1Session::Work(bool on_a_body, std::function<void(std::shared_ptr<HttpReply>)> work) {
  phase_ = Phase::kWorking;
  waits_for_ = Next::kAwaitReadable;
  connection_.common().workers->Do(
      connection_.peer()->network,
      [work = std::move(work), reply = std::make_shared<Reply>(connection_.shared_from_this(), *this)] { work(reply); },
      on_a_body);
}

Http1Session::Step Http1Session::WatchClient() {
  if (is_gone_ || unparsed_.size() >= kMostAhead) return Step::kWait;
  if (ReadMore()) return Step::kAgain;
  if (is_gone_) request_->hung_up->store(true, std::memory_order_release);
  return Step::kWait;
}

void Http1Session::OnWoken() {
  std::optional<HttpResponse> reply;
  {
    MutexLock lock(mutex_);
    reply.swap(reply_);
  }
  if (reply.has_value()) Answer(*std::move(reply));
  Advance();
}

void Http1Session::Answer(HttpResponse response) {
  connection_.common().LimitUnsent(request_.get(), response);
  keep_ = request_ != nullptr && is_whole_ && !leaving_.has_value() && !is_gone_ &&
          options_.idle_timeout > absl::ZeroDuration() && request_->head.KeepsAlive();
  head_ = ResponseHead(response, request_.get(), keep_);
  body_ = request_ != nullptr && request_->method() == "HEAD" ? std::string() : std::move(response.body);
  held_ = std::move(response.held);
  sent_ = 0;
  phase_ = Phase::kSending;
  since_ = Now();
  waits_for_ = Next::kAwaitWritable;
  connection_.common().unsent.fetch_add(static_cast<int64_t>(UnsentBytes()), std::memory_order_relaxed);
}

Http1Session::Step Http1Session::SendMore() {
  const absl::string_view head = head_, body = body_;
  while (sent_ < head.size() + body.size()) {
    const size_t of_body = sent_ - std::min(sent_, head.size());
    const ByteStream::Result result =
        connection_.stream().Write(head.substr(std::min(sent_, head.size())), body.substr(of_body));
    if (result.next == Next::kGone) {
      connection_.Close(CloseReason::kClient);
      return Step::kWait;
    }
    if (result.next != Next::kGoOn) {
      waits_for_ = result.next;
      return Step::kWait;
    }
    sent_ += result.bytes;
    connection_.common().unsent.fetch_sub(static_cast<int64_t>(result.bytes), std::memory_order_relaxed);
  }
  held_ = nullptr;
  head_.clear();
  std::string().swap(body_);  // frees the memory, which an assignment would keep
  connection_.NoteRequestDone();
  const bool awaits_body = !is_slow_ && (has_no_room_ || (request_ != nullptr && !is_whole_ && !is_gone_));
  is_gone_ = false;  // a lingering connection reads until the client disconnects
  BeginHead();
  if (keep_) return Step::kAgain;
  connection_.Linger(is_slow_ ? CloseReason::kSlowClient : leaving_.value_or(CloseReason::kDone), awaits_body);
  return Step::kWait;
}

bool Http1Session::IsSlow(size_t bytes, std::chrono::nanoseconds grace) const {
  const std::chrono::duration<double> spent = Now() - since_ - grace;
  return spent.count() > 0 && static_cast<double>(bytes) < spent.count() * static_cast<double>(options_.least_rate);
}

void Http1Session::OnTick() {
  if (phase_ == Phase::kHead && since_ != Time() && Now() - since_ > Nanoseconds(options_.request_timeout)) {
    return connection_.Close(CloseReason::kHeadTimeout);
  }
  if (phase_ == Phase::kSending && IsSlow(sent_, Nanoseconds(options_.body_timeout))) {
    return connection_.Close(CloseReason::kSlowClient);
  }
  if (phase_ == Phase::kBody && IsSlow(parser_->body_bytes(), Nanoseconds(options_.body_timeout))) {
    is_slow_ = true;
    GiveBody(absl::DeadlineExceededError("the body took too long to arrive"));
    Advance();
  }
}

void Http1Session::StartLeaving(CloseReason reason) {
  leaving_ = reason;
  // An idle HTTP/1 client cannot be notified. Its next response announces the server's shutdown.
  if (reason == CloseReason::kShutdown) return;
  // A client whose certificate is no longer valid may not even complete the headers that it has begun.
  if (phase_ == Phase::kHead && (since_ == Time() || reason == CloseReason::kCertificate)) connection_.Close(reason);
}

void Http1Session::End() {
  leaving_ = CloseReason::kShutdown;
  keep_ = false;  // closes the connection even if the current response said otherwise
  bool reads = phase_ == Phase::kHead || phase_ == Phase::kBody;  // a request may already have arrived
  for (int i = 0; i < kLastReads && reads; ++i) {
    Advance();
    reads = !connection_.is_closed() && (phase_ == Phase::kBody || (phase_ == Phase::kHead && parser_ != nullptr));
  }
  if (connection_.is_closed()) return;
  if (phase_ == Phase::kHead) return connection_.Close(CloseReason::kShutdown);
  if (phase_ != Phase::kBody) return;
  GiveBody(absl::UnavailableError("the server is draining"));
  Advance();
}

void Http1Session::OnClosed() {
  connection_.common().unsent.fetch_sub(static_cast<int64_t>(UnsentBytes()), std::memory_order_relaxed);
  if (request_ != nullptr) request_->hung_up->store(true, std::memory_order_release);
  held_ = nullptr;
  head_.clear();
  std::string().swap(body_);  // frees the memory, which an assignment would keep
  sent_ = 0;
  unparsed_ = {};
  StoreUnparsed();
  received_share_.Release();
}

std::unique_ptr<HttpProtocol> MakeHttp1(HttpConnection& connection, std::string first) {
  return std::make_unique<Http1Session>(connection, std::move(first));
}

}  // namespace vitrine
