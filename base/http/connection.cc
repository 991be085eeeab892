// SPDX-License-Identifier: Apache-2.0
#include "base/http/connection.h"

#include <netdb.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/gunzip.h"
#include "base/http/response_text.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

using Next = HttpStream::Result::Next;
using SteadyTime = std::chrono::steady_clock;

// How long a client may go on sending behind its last answer: to hang up on it would take the answer away from it.
constexpr std::chrono::seconds kEndingTime{1};
// What is taken of a client that sends its next requests before it was answered.
constexpr size_t kMostAhead = size_t{64} << 10;
// Steps of one connection before others have their turn.
constexpr int kStepsAtOnce = 16;
constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr absl::string_view kNoMemoryLeft =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n"
    "Connection: close\r\n\r\nout of memory\n";

EventLoop::Time After(absl::Duration duration) {
  return SteadyTime::now() + absl::ToChronoNanoseconds(duration);
}

// Of a request that could not be read.
HttpResponse Unreadable(const absl::Status& why) {
  return {.code = absl::IsResourceExhausted(why) ? 431 : 400,
          .type = kPlainText,
          .body = absl::StrCat(std::string(why.message()), "\n")};
}

bool IsGzipped(const HttpRequest& request) {
  return absl::EqualsIgnoreCase(request.Header("Content-Encoding").value_or(""), "gzip");
}

absl::StatusOr<std::string> Unfolded(const std::string& body, BodyRoom& room, int64_t max_bytes) {
  RETURN_IF_ERROR(room.Take(std::min<int64_t>(static_cast<int64_t>(StatedGunzipSize(body)), max_bytes)));
  return Gunzip(body, static_cast<size_t>(max_bytes));
}

// What can be said of a body before any of it is read.
absl::Status CheckAnnouncedBody(const HttpRequest& request, int64_t max_bytes) {
  if (!IsGzipped(request) &&
      !absl::EqualsIgnoreCase(request.Header("Content-Encoding").value_or("identity"), "identity")) {
    return absl::InvalidArgumentError("the body's Content-Encoding is not known; send it as it is, or with gzip");
  }
  const std::optional<int64_t> length = request.head.ContentLength();
  if (!length.has_value() && !request.head.AnnouncesBody()) {
    return absl::InvalidArgumentError("the request has no Content-Length");
  }
  if (length.value_or(0) > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the body has ", *length, " bytes; at most ", max_bytes, " are read"));
  }
  return absl::OkStatus();
}

}  // namespace

// Keeps the room of the body until it is sent.
class HttpConnection::Reply final : public HttpReply {
 public:
  Reply(std::shared_ptr<HttpConnection> to, std::shared_ptr<BodyRoom> room)
      : to_(std::move(to)), room_(std::move(room)) {}
  ~Reply() override {
    if (to_ == nullptr) return;
    to_->out_of_memory_ = true;
    HandOver();
  }

  void Send(absl::FunctionRef<HttpResponse()> make) override {
    if (to_ == nullptr) return;
    try {
      to_->Write(make());
    } catch (const std::bad_alloc&) {
      to_->out_of_memory_ = true;
      if (to_->common_.out_of_memory != nullptr) to_->common_.out_of_memory();
    }
    HandOver();
  }

 private:
  void HandOver() {
    if (room_ != nullptr) room_->GiveBack();
    HttpCommon& common = to_->common_;
    common.replied(std::move(to_));
    to_ = nullptr;
  }

  std::shared_ptr<HttpConnection> to_;
  std::shared_ptr<BodyRoom> room_;
};

HttpConnection::HttpConnection(EventLoop& loop, int socket, const sockaddr_storage& address, socklen_t address_bytes,
                               const std::shared_ptr<const TlsContext>& tls, HttpCommon& common)
    : Watched(loop),
      common_(common),
      address_(address),
      address_bytes_(address_bytes),
      is_encrypted_(tls != nullptr),
      stream_(is_encrypted_ ? TlsStream(socket, *tls) : PlainStream(socket)),
      until_(After(common.head_time)),
      since_(SteadyTime::now()) {}

void HttpConnection::OnReady() {
  try {
    Advance();
  } catch (const std::bad_alloc&) {
    if (common_.out_of_memory != nullptr) common_.out_of_memory();
    // A request that is worked on answers for itself: what failed was to listen whether its client is there.
    if (phase_ != Phase::kWorking) SendOutOfMemory();
  } catch (const std::exception&) {  // nothing known throws; should something, it costs this connection alone
    Close();
  }
}

void HttpConnection::Advance() {
  for (int i = 0; i < kStepsAtOnce && !is_closed(); ++i) {
    Step step = Step::kWait;
    switch (phase_) {
      case Phase::kGreeting:
        step = Greet();
        break;
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
      case Phase::kEnding:
        step = PassOver();
    }
    if (step == Step::kWait) return;
  }
  AwaitWritable();  // at once, after the others
}

HttpConnection::Step HttpConnection::Await(Next next) {
  if (next == Next::kAwaitReadable) AwaitReadable();
  if (next == Next::kAwaitWritable) AwaitWritable();
  if (next == Next::kGone) Close();
  return Step::kWait;
}

HttpConnection::Step HttpConnection::Greet() {
  const Next next = stream_->Greet().next;
  if (next != Next::kGoOn) return Await(next);
  phase_ = Phase::kHead;
  return Step::kAgain;
}

bool HttpConnection::ReadMore() {
  const HttpStream::Result result = stream_->Read(common_.scratch.data(), common_.scratch.size());
  received_.append(common_.scratch.data(), result.bytes);
  if (result.next == Next::kGoOn) return true;
  is_gone_ = result.next == Next::kGone;
  if (!is_gone_) Await(result.next);
  return false;
}

HttpConnection::Step HttpConnection::ReadHead() {
  if (parser_ == nullptr) {
    if (received_.empty() && !ReadMore()) {
      if (is_gone_) Close();
      return Step::kWait;
    }
    parser_ = std::make_unique<HttpRequestParser>();
    // The whole head, however its bytes drip.
    until_ = std::min(until_, After(common_.head_time));
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
  if (is_gone_) Close();
  return Step::kWait;
}

void HttpConnection::Serve() {
  absl::StatusOr<HttpHead> head = parser_->Head();
  is_whole_ = parser_->is_done();
  if (!head.ok()) {
    is_whole_ = false;
    return Answer(Unreadable(head.status()));
  }
  request_ = std::make_shared<HttpRequest>(HttpRequest{.head = *std::move(head),
                                                       .peer = Peer(),
                                                       .certificate_names = stream_->CertificateNames(),
                                                       .is_encrypted = is_encrypted_});
  if (common_.read_only && request_->method() != "GET" && request_->method() != "HEAD") {
    return Answer({.code = 405, .type = kPlainText, .body = "only GET and HEAD are served here\n"});
  }
  HttpNext next = common_.handler(request_);
  if (next.response.has_value()) return Answer(*std::move(next.response));
  if (next.make != nullptr) {
    return Work(false, [make = std::move(next.make)](const std::shared_ptr<HttpReply>& reply) { reply->Send(make); });
  }
  with_body_ = std::move(next.with_body);
  BeginBody();
}

void HttpConnection::Work(bool on_a_body, std::function<void(std::shared_ptr<HttpReply>)> work) {
  auto reply = std::make_shared<Reply>(std::static_pointer_cast<HttpConnection>(shared_from_this()), room_);
  phase_ = Phase::kWorking;  // from here on the reply answers, whatever becomes of the work
  until_ = EventLoop::Time::max();
  common_.workers.Do(on_a_body, [work = std::move(work), reply = std::move(reply)] { work(reply); });
}

void HttpConnection::BeginBody() {
  room_ = std::make_shared<BodyRoom>(common_.bodies);
  absl::Status fault = CheckAnnouncedBody(*request_, common_.max_body_bytes);
  if (fault.ok()) fault = room_->Take(request_->head.ContentLength().value_or(0));
  if (!fault.ok()) return GiveBody(std::move(fault));
  phase_ = Phase::kBody;
  until_ = After(common_.body_time);
  if (parser_->is_done()) return;
  parser_->ReadBody(common_.max_body_bytes);
  if (received_.empty() && absl::EqualsIgnoreCase(request_->Header("Expect").value_or(""), "100-continue")) {
    (void)stream_->Write({}, kContinue);  // who does not get it sends the body after a while
  }
}

HttpConnection::Step HttpConnection::ReadBody() {
  if (!parser_->is_done() && !received_.empty()) {
    const absl::StatusOr<size_t> taken = parser_->Take(received_);
    absl::Status fault = taken.status();
    if (fault.ok()) {
      received_.erase(0, *taken);
      fault = room_->Hold(static_cast<int64_t>(parser_->body_bytes()));
    }
    if (fault.ok() && received_.size() > kMaxHttpHeadBytes && !parser_->is_done()) {
      fault = absl::InvalidArgumentError("the body is not in chunks as HTTP/1.1 has them: one begins with a long line");
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

void HttpConnection::GiveBody(absl::StatusOr<std::string> body) {
  is_whole_ = parser_->is_done();
  Work(true, [body = std::make_shared<absl::StatusOr<std::string>>(std::move(body)), with_body = std::move(with_body_),
              room = room_, is_gzipped = IsGzipped(*request_),
              max_bytes = common_.max_body_bytes](std::shared_ptr<HttpReply> reply) {
    if (is_gzipped && body->ok()) *body = Unfolded(**body, *room, max_bytes);
    with_body(std::move(*body), std::move(reply));
  });
}

HttpConnection::Step HttpConnection::WatchClient() {
  if (is_gone_ || received_.size() >= kMostAhead) return Step::kWait;
  if (ReadMore()) return Step::kAgain;
  if (is_gone_) request_->hung_up->store(true, std::memory_order_release);
  return Step::kWait;
}

void HttpConnection::Answer(HttpResponse response) {
  Write(std::move(response));
  BeginSending();
}

void HttpConnection::Write(HttpResponse response) {
  keep_ = request_ != nullptr && is_whole_ && common_.keep_alive > absl::ZeroDuration() && request_->head.KeepsAlive();
  head_ = ResponseHead(response, request_.get(), keep_);
  if (request_ == nullptr || request_->method() != "HEAD") body_ = std::move(response.body);
  held_ = std::move(response.held);
}

void HttpConnection::BeginSending() {
  phase_ = Phase::kSending;
  until_ = After(common_.head_time);
  sent_ = 0;
  room_ = nullptr;
}

HttpConnection::Step HttpConnection::SendMore() {
  const absl::string_view head = head_, body = body_;
  while (sent_ < head.size() + body.size()) {
    const size_t of_body = sent_ - std::min(sent_, head.size());
    const HttpStream::Result result = stream_->Write(head.substr(std::min(sent_, head.size())), body.substr(of_body));
    if (result.next != Next::kGoOn) return Await(result.next);
    sent_ += result.bytes;
  }
  held_ = nullptr;
  head_ = body_ = std::string();
  parser_ = nullptr;
  if (!keep_) {
    End();
    return Step::kAgain;
  }
  request_ = nullptr;
  is_gone_ = false;
  phase_ = Phase::kHead;
  since_ = SteadyTime::now();
  until_ = After(common_.keep_alive);
  return Step::kAgain;
}

void HttpConnection::SendOutOfMemory() {
  if (phase_ == Phase::kGreeting) return Close();
  if (phase_ != Phase::kSending || sent_ == 0) (void)stream_->Write({}, kNoMemoryLeft);
  head_ = body_ = std::string();
  held_ = nullptr;
  with_body_ = nullptr;
  End();
  AwaitReadable();
}

void HttpConnection::End() {
  stream_->EndWriting();
  phase_ = Phase::kEnding;
  until_ = SteadyTime::now() + kEndingTime;
}

HttpConnection::Step HttpConnection::PassOver() {
  const HttpStream::Result result = stream_->Read(common_.scratch.data(), common_.scratch.size());
  return result.next == Next::kGoOn ? Step::kAgain : Await(result.next);
}

void HttpConnection::TakeReply() {
  if (is_closed()) return void(held_ = nullptr);
  if (std::exchange(out_of_memory_, false)) return SendOutOfMemory();
  BeginSending();
  OnReady();
}

void HttpConnection::TimeIsUp() {
  if (phase_ != Phase::kBody) return Close();
  GiveUpBody(absl::DeadlineExceededError("the body took too long to arrive"));
}

void HttpConnection::GiveUpBody(const absl::Status& why) {
  try {
    GiveBody(why);
  } catch (const std::bad_alloc&) {
    if (common_.out_of_memory != nullptr) common_.out_of_memory();
    if (phase_ != Phase::kWorking) return SendOutOfMemory();
  }
  OnReady();
}

void HttpConnection::ServerEnds(EventLoop::Time until) {
  if (phase_ == Phase::kGreeting || phase_ == Phase::kHead || phase_ == Phase::kEnding) return Close();
  if (phase_ == Phase::kBody) return GiveUpBody(absl::UnavailableError("the server is draining"));
  if (phase_ == Phase::kSending) until_ = std::min(until_, until);
}

void HttpConnection::Close() {
  if (is_closed()) return;
  CloseDescriptor();
  if (phase_ != Phase::kWorking) held_ = nullptr;
  common_.closed(*this);
}

std::string HttpConnection::Peer() const {
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address_), address_bytes_, host, sizeof(host), port, sizeof(port),
              NI_NUMERICHOST | NI_NUMERICSERV);
  return address_.ss_family == AF_INET6 ? absl::StrCat("ipv6:[", host, "]:", port)
                                        : absl::StrCat("ipv4:", host, ":", port);
}

}  // namespace vitrine
