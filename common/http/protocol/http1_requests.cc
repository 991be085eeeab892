// SPDX-License-Identifier: Apache-2.0
// Reads the requests of an HTTP/1 connection and passes them to the handler.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/http/body.h"
#include "common/http/protocol/http1_session.h"
#include "common/http/request_id.h"

namespace vitrine {
namespace {

constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Headers up to this size do not count while a complete request is being answered. Usual requests, which arrive at
// once, therefore do not use the budget, whose counter is shared by all threads.
constexpr size_t kMostUncounted = size_t{4} << 10;
// Approximate memory of short headers, in bytes per byte of the size that is compared with the limit.
constexpr size_t kHeadFactor = 2;

// Returns the response to a request that could not be parsed.
HttpResponse Unreadable(const absl::Status& why, const HttpRequestParser& parser) {
  HttpHead head;
  head.headers = parser.Fields();  // the headers before the fault
  return {.code = absl::IsResourceExhausted(why) ? 431 : 400,
          .type = kPlainText,
          .body = absl::StrCat(std::string(why.message()), "\n"),
          .headers = RequestIdHeader(head)};
}

}  // namespace

bool Http1Session::ReadMore() {
  waits_for_ = Next::kAwaitReadable;
  if (!std::exchange(may_read_, false)) return false;
  StoreUnparsed();
  std::vector<char>& scratch = connection_.scratch();
  // Body bytes are passed on at once. Other bytes may stay here until the client has read a response.
  const int64_t body = phase_ == Phase::kBody ? request_->head.ContentLength().value_or(0) : 0;
  const size_t most = kMostAhead + static_cast<size_t>(body) - (body > 0 ? parser_->body_bytes() : 0);
  const ByteStream::Result result = connection_.stream().Read(scratch.data(), std::min(most, scratch.size()));
  if (received_.empty()) {
    unparsed_ = absl::string_view(scratch.data(), result.bytes);
  } else {
    received_.append(scratch.data(), result.bytes);
    unparsed_ = received_;
  }
  const int updates = connection_.stream().TakeKeyUpdates();
  if (updates > 0 && !connection_.Spend(kKeyUpdatePoints * updates)) {
    is_gone_ = true;
    connection_.Close(CloseReason::kAbuse);
    return false;
  }
  if (result.next == Next::kGoOn) {
    connection_.NoteReceived(result.bytes);
    if (connection_.stream().HasPending()) connection_.Wake();
    return true;
  }
  if (result.next == Next::kGone) {
    is_gone_ = true;
  } else {
    waits_for_ = result.next;
  }
  return false;
}

void Http1Session::StoreUnparsed() {
  if (unparsed_.size() == received_.size()) return;
  std::string(unparsed_).swap(received_);  // frees the memory, which an assignment would keep
  unparsed_ = received_;
}

int64_t Http1Session::CountedHeadBytes() const {
  if ((phase_ == Phase::kWorking || phase_ == Phase::kSending) && head_bytes_ <= kMostUncounted) return 0;
  // While a body is read, the headers are both in the parser and in the request.
  const size_t bytes = (parser_ == nullptr ? 0 : parser_->head_bytes()) + head_bytes_;
  return static_cast<int64_t>(kHeadFactor * bytes);
}

bool Http1Session::Keep() {
  if (has_no_room_) return true;
  StoreUnparsed();
  const int64_t bytes = (received_.empty() ? 0 : static_cast<int64_t>(received_.capacity())) + CountedHeadBytes();
  received_share_.ReduceTo(bytes);
  const int64_t more = bytes - received_share_.bytes();
  // Exceeds the budget by up to a quarter, as HTTP/2 does, so that small requests pass while large ones fill it.
  if (more == 0 || received_share_.Add(more, connection_.common().received->limit() / 4)) return true;
  received_share_.Release();
  unparsed_ = {};
  StoreUnparsed();
  has_no_room_ = true;
  is_gone_ = true;
  keep_ = false;
  if (phase_ == Phase::kBody) GiveBody(NoRoomError());
  if (phase_ == Phase::kHead) {
    is_whole_ = false;
    Answer({.code = 503,
            .type = kPlainText,
            .body = absl::StrCat(std::string(NoRoomError().message()), "\n"),
            .headers = {{"Retry-After", "1"}}});
    parser_ = nullptr;  // frees the headers, which no longer count
  }
  return false;
}

void Http1Session::BeginHead() {
  phase_ = Phase::kHead;
  parser_ = nullptr;
  request_ = nullptr;
  head_bytes_ = 0;
  since_ = {};
  waits_for_ = Next::kAwaitReadable;
}

Http1Session::Step Http1Session::ReadHead() {
  if (parser_ == nullptr) {
    if (unparsed_.empty() && !ReadMore()) {
      if (is_gone_) connection_.Close(leaving_.value_or(CloseReason::kClient));
      return Step::kWait;
    }
    parser_ = std::make_unique<HttpRequestParser>(static_cast<size_t>(options_.max_head_bytes));
    since_ = Now();  // the timeout covers the whole headers, however slowly they arrive
  }
  const absl::StatusOr<size_t> taken = parser_->Take(unparsed_);
  if (!taken.ok()) {
    is_whole_ = false;
    leaving_ = CloseReason::kProtocol;
    Answer(Unreadable(taken.status(), *parser_));
    return Step::kAgain;
  }
  unparsed_.remove_prefix(*taken);
  if (parser_->has_head()) {
    Serve();
    return Step::kAgain;
  }
  if (ReadMore()) return Step::kAgain;
  if (is_gone_) connection_.Close(CloseReason::kClient);
  return Step::kWait;
}

void Http1Session::Serve() {
  ++requests_;
  absl::StatusOr<HttpHead> head = parser_->Head();
  is_whole_ = parser_->is_done();
  if (!head.ok()) {
    is_whole_ = false;
    leaving_ = CloseReason::kProtocol;
    return Answer(Unreadable(head.status(), *parser_));
  }
  request_ = std::make_shared<HttpRequest>(HttpRequest{.head = *std::move(head), .peer = connection_.peer()});
  head_bytes_ = parser_->head_bytes();
  request_->answer_headers = RequestIdHeader(request_->head);
  if (head_bytes_ > kMostUncounted && !Keep()) return;
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

void Http1Session::BeginBody() {
  absl::Status fault = CheckAnnouncedBody(*request_, options_.max_body_bytes, true);
  const ByteBudget& budget = *connection_.common().received;
  // Rejects at once a body whose announced length exceeds the remaining budget.
  if (fault.ok() && request_->head.ContentLength().value_or(0) > budget.limit() - budget.used()) fault = NoRoomError();
  if (!fault.ok()) return GiveBody(std::move(fault));
  phase_ = Phase::kBody;
  since_ = Now();
  parser_->ReadBody(options_.max_body_bytes, BudgetShare(connection_.common().received));
  if (parser_->is_done()) return;
  may_read_ = true;  // the headers were read with little of the body
  if (unparsed_.empty() && absl::EqualsIgnoreCase(request_->Header("Expect").value_or(""), "100-continue")) {
    // a failure is ignored: clients send the body after a timeout anyway
    (void)connection_.stream().Write({}, kContinue);
  }
}

Http1Session::Step Http1Session::ReadBody() {
  if (!parser_->is_done() && !unparsed_.empty()) {
    const absl::StatusOr<size_t> taken = parser_->Take(unparsed_);
    absl::Status fault = taken.status();
    if (fault.ok()) unparsed_.remove_prefix(*taken);
    if (fault.ok() && unparsed_.size() > kMaxHttpHeadBytes && !parser_->is_done()) {
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

void Http1Session::GiveBody(absl::StatusOr<std::string> body) {
  is_whole_ = parser_->is_done();
  auto received = std::make_shared<ReceivedBody>(ReceivedBody{std::move(body), parser_->TakeShare()});
  parser_ = nullptr;  // frees a rejected body now, because the budget stops counting its bytes when the handler ends
  Work(true, [received = std::move(received), with_body = std::exchange(with_body_, nullptr), request = request_,
              max_bytes = options_.max_body_bytes](std::shared_ptr<HttpReply> reply) {
    HandOver(std::move(*received), *request, max_bytes, with_body, std::move(reply));
  });
}

}  // namespace vitrine
