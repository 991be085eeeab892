// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/http1.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/http/body.h"
#include "common/http/protocol/request_parser.h"
#include "common/http/protocol/response_text.h"
#include "common/mutex.h"

namespace vitrine {
namespace {

using Next = ByteStream::Result::Next;
using Time = EventLoop::Time;

// Maximum number of bytes read ahead while a request is being answered.
constexpr size_t kMostAhead = size_t{64} << 10;
// Maximum number of steps per call of Advance, so that other connections are not delayed.
constexpr int kStepsAtOnce = 16;
constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Returns the response to a request that could not be parsed.
HttpResponse Unreadable(const absl::Status& why) {
  return {.code = absl::IsResourceExhausted(why) ? 431 : 400,
          .type = kPlainText,
          .body = absl::StrCat(std::string(why.message()), "\n")};
}

class Http1 final : public HttpProtocol {
 public:
  Http1(HttpConnection& connection, std::string first)
      : connection_(connection), options_(connection.common().options), received_(std::move(first)) {
    BeginHead();
  }

  void OnReady(bool readable, bool writable, bool failed) override;
  void OnWoken() override;
  void OnTick() override;
  void StartLeaving(CloseReason reason) override;
  void End() override;
  void OnClosed() override;
  bool HasRequests() const override { return phase_ != Phase::kHead; }
  std::optional<Time> UnsentSince() const override {
    return phase_ == Phase::kSending ? std::optional<Time>(since_) : std::nullopt;
  }
  bool AwaitsClient() const override { return phase_ == Phase::kHead || phase_ == Phase::kBody; }
  HttpConnectionStatus Describe() const override {
    return {.peer = "",
            .protocol = "http/1.1",
            .age = {},
            .requests = requests_,
            .streams = HasRequests() ? 1 : 0,
            .unsent_bytes = static_cast<int64_t>(UnsentBytes())};
  }

 private:
  class Reply;
  enum class Phase { kHead, kBody, kWorking, kSending };
  enum class Step { kWait, kAgain };

  Time Now() const { return connection_.loop().now(); }
  void Advance();
  void Await();
  Step ReadHead();
  Step ReadBody();
  Step WatchClient();
  Step SendMore();
  // Appends available bytes to received_. Returns true if there were any.
  bool ReadMore();
  void BeginHead();
  void Serve();
  void Work(bool on_a_body, std::function<void(std::shared_ptr<HttpReply>)> work);
  void BeginBody();
  void GiveBody(absl::StatusOr<std::string> body);
  void Answer(HttpResponse response);
  size_t UnsentBytes() const { return phase_ == Phase::kSending ? head_.size() + body_.size() - sent_ : 0; }
  bool IsSlow(size_t bytes, std::chrono::nanoseconds grace) const;

  HttpConnection& connection_;
  const HttpServerOptions& options_;

  Phase phase_ = Phase::kHead;
  Time since_ = {};       // start of the phase; in kHead, arrival of the headers' first byte, or zero before that byte
  std::string received_;  // bytes received and not yet parsed
  std::unique_ptr<HttpRequestParser> parser_;
  std::shared_ptr<HttpRequest> request_;  // null if the headers could not be parsed
  HttpHandling::WithBody with_body_;
  BudgetShare share_;     // bytes of the body
  bool is_whole_ = true;  // true: the whole request was read
  bool is_gone_ = false;  // true: the client sends no more data
  bool is_slow_ = false;  // true: the client sent a body below the least rate
  Next waits_for_ = Next::kAwaitReadable;
  // The response being sent.
  std::string head_, body_;
  size_t sent_ = 0;  // number of bytes of head_ and body_ already sent
  std::shared_ptr<void> held_;
  bool keep_ = false;
  std::optional<CloseReason> leaving_;  // if set, the next response is the last
  int64_t requests_ = 0;

  Mutex mutex_;
  std::optional<HttpResponse> reply_ ABSL_GUARDED_BY(mutex_);  // set by the handler during kWorking
};

// Sends the handler's response. Keeps the connection and its protocol alive.
class Http1::Reply final : public HttpReply {
 public:
  Reply(std::shared_ptr<Watched> connection, Http1& to) : connection_(std::move(connection)), to_(to) {}
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
  Http1& to_;
};

void Http1::OnReady(bool, bool, bool failed) {
  if (failed && phase_ == Phase::kWorking) {  // the client can no longer read the response
    if (request_ != nullptr) request_->hung_up->store(true, std::memory_order_release);
    return connection_.Close(CloseReason::kClient);
  }
  Advance();
}

void Http1::Advance() {
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
    if (step == Step::kWait) return Await();
  }
  if (connection_.is_closed()) return;
  Await();
  connection_.Wake();  // continues after the events of other connections
}

void Http1::Await() {
  const bool waits_to_write = waits_for_ == Next::kAwaitWritable;
  if (phase_ == Phase::kSending) return connection_.Await(!waits_to_write, waits_to_write);
  const bool reads = !is_gone_ && (phase_ != Phase::kWorking || received_.size() < kMostAhead);
  connection_.Await(reads && !waits_to_write, waits_to_write);
}

bool Http1::ReadMore() {
  std::vector<char>& scratch = connection_.scratch();
  const ByteStream::Result result = connection_.stream().Read(scratch.data(), scratch.size());
  received_.append(scratch.data(), result.bytes);
  waits_for_ = Next::kAwaitReadable;
  const int updates = connection_.stream().TakeKeyUpdates();
  if (updates > 0 && !connection_.Spend(kKeyUpdatePoints * updates)) {
    is_gone_ = true;
    connection_.Close(CloseReason::kAbuse);
    return false;
  }
  if (result.next == Next::kGoOn) {
    connection_.NoteReceived();
    return true;
  }
  if (result.next == Next::kGone) {
    is_gone_ = true;
  } else {
    waits_for_ = result.next;
  }
  return false;
}

void Http1::BeginHead() {
  phase_ = Phase::kHead;
  parser_ = nullptr;
  request_ = nullptr;
  since_ = {};
  waits_for_ = Next::kAwaitReadable;
}

Http1::Step Http1::ReadHead() {
  if (parser_ == nullptr) {
    if (received_.empty() && !ReadMore()) {
      if (is_gone_) connection_.Close(leaving_.value_or(CloseReason::kClient));
      return Step::kWait;
    }
    parser_ = std::make_unique<HttpRequestParser>(static_cast<size_t>(options_.max_head_bytes));
    since_ = Now();  // the timeout covers the whole headers, however slowly they arrive
  }
  const absl::StatusOr<size_t> taken = parser_->Take(received_);
  if (!taken.ok()) {
    is_whole_ = false;
    Answer(Unreadable(taken.status()));
    return Step::kAgain;
  }
  received_.erase(0, *taken);
  if (parser_->has_head()) {
    Serve();
    return Step::kAgain;
  }
  if (ReadMore()) return Step::kAgain;
  if (is_gone_) connection_.Close(CloseReason::kClient);
  return Step::kWait;
}

void Http1::Serve() {
  ++requests_;
  absl::StatusOr<HttpHead> head = parser_->Head();
  is_whole_ = parser_->is_done();
  if (!head.ok()) {
    is_whole_ = false;
    return Answer(Unreadable(head.status()));
  }
  request_ = std::make_shared<HttpRequest>(HttpRequest{.head = *std::move(head), .peer = connection_.peer()});
  if (options_.read_only && request_->method() != "GET" && request_->method() != "HEAD") {
    return Answer({.code = 405,
                   .type = kPlainText,
                   .body = "only GET and HEAD are served here\n",
                   .headers = {{"Allow", "GET, HEAD"}}});
  }
  HttpHandling next = connection_.common().handler(request_);
  if (next.response.has_value()) return Answer(*std::move(next.response));
  if (next.open != nullptr) {
    return Answer({.code = 505, .type = kPlainText, .body = "this is served only over HTTP/2\n"});
  }
  if (next.make != nullptr) {
    return Work(false,
                [make = std::move(next.make), gone = request_->hung_up](const std::shared_ptr<HttpReply>& reply) {
                  if (!gone->load(std::memory_order_acquire)) reply->Send(make);
                });
  }
  with_body_ = std::move(next.with_body);
  BeginBody();
}

void Http1::Work(bool on_a_body, std::function<void(std::shared_ptr<HttpReply>)> work) {
  phase_ = Phase::kWorking;
  waits_for_ = Next::kAwaitReadable;
  connection_.common().workers->Do(
      on_a_body, [work = std::move(work), reply = std::make_shared<Reply>(connection_.shared_from_this(), *this)] {
        work(reply);
      });
}

void Http1::BeginBody() {
  share_ = BudgetShare(connection_.common().received);
  absl::Status fault = CheckAnnouncedBody(*request_, options_.max_body_bytes, true);
  const ByteBudget& budget = *connection_.common().received;
  // Rejects at once a body whose announced length exceeds the remaining budget.
  if (fault.ok() && request_->head.ContentLength().value_or(0) > budget.limit() - budget.used()) fault = NoRoomError();
  if (!fault.ok()) return GiveBody(std::move(fault));
  phase_ = Phase::kBody;
  since_ = Now();
  if (parser_->is_done()) return;
  parser_->ReadBody(options_.max_body_bytes);
  if (received_.empty() && absl::EqualsIgnoreCase(request_->Header("Expect").value_or(""), "100-continue")) {
    // a failure is ignored: clients send the body after a timeout anyway
    (void)connection_.stream().Write({}, kContinue);
  }
}

Http1::Step Http1::ReadBody() {
  if (!parser_->is_done() && !received_.empty()) {
    const absl::StatusOr<size_t> taken = parser_->Take(received_);
    absl::Status fault =
        absl::IsResourceExhausted(taken.status())
            ? TooLargeError(absl::StrCat("the body has more than the ", options_.max_body_bytes, " bytes allowed"))
            : taken.status();
    if (fault.ok()) {
      received_.erase(0, *taken);
      const int64_t more = static_cast<int64_t>(parser_->body_bytes()) - share_.bytes();
      if (more > 0 && !share_.Add(more)) fault = NoRoomError();
    }
    if (fault.ok() && received_.size() > kMaxHttpHeadBytes && !parser_->is_done()) {
      fault = absl::InvalidArgumentError("the body has an invalid HTTP/1.1 chunk, which begins with too long a line");
    }
    if (!fault.ok()) {
      GiveBody(std::move(fault));
      return Step::kAgain;
    }
  }
  if (parser_->is_done()) {
    GiveBody(parser_->TakeBody());
    return Step::kAgain;
  }
  if (ReadMore()) return Step::kAgain;
  if (!is_gone_) return Step::kWait;
  GiveBody(absl::InvalidArgumentError("the body ended before its Content-Length"));
  return Step::kAgain;
}

void Http1::GiveBody(absl::StatusOr<std::string> body) {
  is_whole_ = parser_->is_done();
  auto received = std::make_shared<ReceivedBody>(ReceivedBody{std::move(body), std::move(share_)});
  Work(true, [received = std::move(received), with_body = std::exchange(with_body_, nullptr), request = request_,
              max_bytes = options_.max_body_bytes](std::shared_ptr<HttpReply> reply) {
    HandOver(std::move(*received), *request, max_bytes, with_body, std::move(reply));
  });
}

Http1::Step Http1::WatchClient() {
  if (is_gone_ || received_.size() >= kMostAhead) return Step::kWait;
  if (ReadMore()) return Step::kAgain;
  if (is_gone_) request_->hung_up->store(true, std::memory_order_release);
  return Step::kWait;
}

void Http1::OnWoken() {
  std::optional<HttpResponse> reply;
  {
    MutexLock lock(mutex_);
    reply.swap(reply_);
  }
  if (reply.has_value()) Answer(*std::move(reply));
  Advance();
}

void Http1::Answer(HttpResponse response) {
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

Http1::Step Http1::SendMore() {
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
  head_ = body_ = std::string();
  connection_.NoteRequestDone();
  if (!keep_) {
    const CloseReason why = request_ == nullptr ? CloseReason::kProtocol : leaving_.value_or(CloseReason::kDone);
    const bool awaits_body = request_ != nullptr && !is_whole_ && !is_gone_ && !is_slow_;
    BeginHead();
    connection_.Linger(why, awaits_body);
    return Step::kWait;
  }
  is_gone_ = false;
  BeginHead();
  return Step::kAgain;
}

// Returns true if fewer than least_rate bytes per second were transferred after the grace period.
bool Http1::IsSlow(size_t bytes, std::chrono::nanoseconds grace) const {
  const std::chrono::duration<double> spent = Now() - since_ - grace;
  return spent.count() > 0 && static_cast<double>(bytes) < spent.count() * static_cast<double>(options_.least_rate);
}

void Http1::OnTick() {
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

void Http1::StartLeaving(CloseReason reason) {
  leaving_ = reason;
  // An idle HTTP/1 client cannot be notified. It learns of a server shutdown from its next response.
  if (reason == CloseReason::kShutdown) return;
  if (phase_ == Phase::kHead && since_ == Time()) connection_.Close(reason);
}

void Http1::End() {
  leaving_ = CloseReason::kShutdown;
  if (phase_ == Phase::kHead) Advance();  // a request may already have arrived
  if (connection_.is_closed()) return;
  if (phase_ == Phase::kHead) return connection_.Close(CloseReason::kShutdown);
  if (phase_ != Phase::kBody) return;
  GiveBody(absl::UnavailableError("the server is draining"));
  Advance();
}

void Http1::OnClosed() {
  connection_.common().unsent.fetch_sub(static_cast<int64_t>(UnsentBytes()), std::memory_order_relaxed);
  if (request_ != nullptr) request_->hung_up->store(true, std::memory_order_release);
  held_ = nullptr;
  head_ = body_ = std::string();
  sent_ = 0;
}

}  // namespace

std::unique_ptr<HttpProtocol> MakeHttp1(HttpConnection& connection, std::string first) {
  return std::make_unique<Http1>(connection, std::move(first));
}

}  // namespace vitrine
