// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/http2_exchange.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/http/body.h"

namespace vitrine {
namespace {

class Reply final : public HttpReply {
 public:
  Reply(std::shared_ptr<HttpStream> stream, std::shared_ptr<HttpRequest> request, const HttpCommon& common)
      : stream_(std::move(stream)), request_(std::move(request)), common_(common) {}
  ~Reply() override {
    if (stream_ == nullptr) return;
    Send([] {
      return HttpResponse{.code = 503,
                          .type = kPlainText,
                          .body = "the server could not answer; try again\n",
                          .headers = {{"retry-after", "1"}}};
    });
  }

  void Send(absl::FunctionRef<HttpResponse()> make) override {
    if (stream_ == nullptr) return;
    HttpResponse response = make();
    common_.LimitUnsent(request_.get(), response);
    std::exchange(stream_, nullptr)->Send(ResponsePart(std::move(response), *request_));
  }

 private:
  std::shared_ptr<HttpStream> stream_;  // null after the response was sent
  const std::shared_ptr<HttpRequest> request_;
  const HttpCommon& common_;
};

// Collects a body and passes it to a worker thread.
class BodyReader final : public HttpStreamHandler {
 public:
  BodyReader(HttpHandling::WithBody with_body, std::shared_ptr<HttpRequest> request, std::shared_ptr<HttpStream> stream,
             HttpCommon& common)
      : with_body_(std::move(with_body)),
        request_(std::move(request)),
        stream_(std::move(stream)),
        common_(common),
        share_(common.received) {
    stream_->SetBodyAwaited(true);
  }

  void OnData(absl::string_view bytes) override {
    stream_->Consume(bytes.size());
    if (with_body_ == nullptr) return;
    const int64_t most = common_.options.max_body_bytes;
    if (static_cast<int64_t>(body_.size() + bytes.size()) > most) {
      return Give(TooLargeError(absl::StrCat("the body has more than the ", most, " bytes allowed")));
    }
    if (!MakeRoom(body_, bytes.size(), request_->head.ContentLength(), share_)) return Give(NoRoomError());
    body_.append(bytes.data(), bytes.size());
  }
  void OnEnd() override { Give(std::move(body_)); }
  void Refuse(const absl::Status& why) { Give(why); }
  void OnTooSlow() override { Give(absl::DeadlineExceededError("the body took too long to arrive")); }
  void OnClosed(bool) override {
    with_body_ = nullptr;
    stream_ = nullptr;
  }

 private:
  void Give(absl::StatusOr<std::string> body) {
    if (with_body_ == nullptr) return;
    auto received = std::make_shared<ReceivedBody>(ReceivedBody{std::move(body), std::move(share_)});
    // Frees the memory of a rejected body now, because the budget no longer counts the body although the stream may
    // stay open. Assigning an empty string would keep the memory; swapping frees it.
    std::string().swap(body_);
    common_.workers->Do(
        request_->peer->network,
        [received = std::move(received), with_body = std::exchange(with_body_, nullptr), request = request_,
         max_bytes = common_.options.max_body_bytes,
         reply = std::make_shared<Reply>(stream_, request_, common_)]() mutable {
          HandOver(std::move(*received), *request, max_bytes, with_body, std::move(reply));
        },
        /*on_a_body=*/true);
  }

  HttpHandling::WithBody with_body_;  // null once called
  const std::shared_ptr<HttpRequest> request_;
  std::shared_ptr<HttpStream> stream_;
  HttpCommon& common_;
  BudgetShare share_;
  std::string body_;
};

}  // namespace

HttpStream::Part ResponsePart(HttpResponse response, const HttpRequest& request) {
  HttpStream::Part part = {.head = {{":status", absl::StrCat(response.code)}}};
  if (response.code != 204 && response.code != 304) {
    part.head.emplace_back("content-type", std::move(response.type));
    part.head.emplace_back("content-length", absl::StrCat(response.body.size()));
  }
  for (const HttpHeaders* headers : {&std::as_const(response.headers), &request.answer_headers}) {
    for (const auto& [name, value] : *headers) part.head.emplace_back(absl::AsciiStrToLower(name), value);
  }
  if (request.method() != "HEAD") part.bytes = std::move(response.body);
  part.is_last = true;
  part.held = std::move(response.held);
  return part;
}

std::shared_ptr<HttpStreamHandler> BeginExchange(HttpHandling next, const std::shared_ptr<HttpRequest>& request,
                                                 const std::shared_ptr<HttpStream>& stream, HttpCommon& common) {
  if (next.response.has_value()) {
    common.LimitUnsent(request.get(), *next.response);
    stream->Send(ResponsePart(*std::move(next.response), *request));
    return nullptr;
  }
  if (next.make != nullptr) {
    common.workers->Do(request->peer->network, [make = std::move(next.make), gone = request->hung_up,
                                                reply = std::make_shared<Reply>(stream, request, common)] {
      if (!gone->load(std::memory_order_acquire)) reply->Send(make);
    });
    return nullptr;
  }
  const absl::Status fault = CheckAnnouncedBody(*request, common.options.max_body_bytes, false);
  auto reader = std::make_shared<BodyReader>(std::move(next.with_body), request, stream, common);
  if (fault.ok()) return reader;
  reader->Refuse(fault);
  return nullptr;
}

}  // namespace vitrine
