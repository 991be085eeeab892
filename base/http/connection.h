// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_CONNECTION_H_
#define VITRINE_BASE_HTTP_CONNECTION_H_

#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/http/body_room.h"
#include "base/http/event_loop.h"
#include "base/http/exchange.h"
#include "base/http/request_parser.h"
#include "base/http/stream.h"
#include "base/http/workers.h"

namespace vitrine {

class HttpConnection;

// What every connection of a server has in common. Outlives them.
struct HttpCommon {
  HttpHandler handler;
  bool read_only = false;  // whether anything but GET and HEAD is answered 405
  absl::Duration head_time;
  absl::Duration body_time;
  absl::Duration keep_alive;
  int64_t max_body_bytes = 0;
  std::function<void()> out_of_memory;  // may be null
  std::shared_ptr<BodyBytes> bodies;
  HttpWorkers& workers;
  std::vector<char> scratch;  // what is read into; the loop's thread alone
  // A reply is there: HttpConnection::TakeReply follows on the loop's thread. Any thread; takes no memory.
  std::function<void(std::shared_ptr<HttpConnection>)> replied;
  // The connection is closed. On the loop's thread.
  std::function<void(HttpConnection&)> closed;
};

// One connection of a client: from head to body to answer, and again. Nothing of it blocks, and each phase has its end.
// Everything is called on the loop's thread.
class HttpConnection : public Watched {
 public:
  enum class Phase { kGreeting, kHead, kBody, kWorking, kSending, kEnding };

  // For `socket`, which is to be watched. `tls` null: plaintext. May throw std::bad_alloc.
  HttpConnection(EventLoop& loop, int socket, const sockaddr_storage& address, socklen_t address_bytes,
                 const std::shared_ptr<const TlsContext>& tls, HttpCommon& common);

  // Requires that the socket is watched.
  void Begin() { OnReady(); }
  // Sends the reply that the connection told of. It may have been closed meanwhile.
  void TakeReply();
  // Its phase is given up.
  void TimeIsUp();
  // The server ends: a body that has not come is not waited for, an answer on its way only until `until`.
  void ServerEnds(EventLoop::Time until);
  void Close();

  Phase phase() const { return phase_; }
  EventLoop::Time until() const { return until_; }  // when its phase is given up
  EventLoop::Time since() const { return since_; }  // when it was accepted, or its last answer was out
  size_t unsent_bytes() const { return phase_ == Phase::kSending ? head_.size() + body_.size() - sent_ : 0; }

  size_t place = 0;  // among the server's connections

 private:
  class Reply;
  enum class Step { kWait, kAgain };

  void OnReady() override;
  void Advance();
  Step Greet();
  Step ReadHead();
  Step ReadBody();
  Step WatchClient();
  Step SendMore();
  Step PassOver();
  // More of what the client sends, behind received_; true if there was something.
  bool ReadMore();
  Step Await(HttpStream::Result::Next next);
  void Serve();
  void Work(bool on_a_body, std::function<void(std::shared_ptr<HttpReply>)> work);
  void BeginBody();
  void GiveBody(absl::StatusOr<std::string> body);
  void GiveUpBody(const absl::Status& why);
  // What was asked is answered with `response`; a body that has not come is left.
  void Answer(HttpResponse response);
  void Write(HttpResponse response);
  void BeginSending();
  void SendOutOfMemory();
  void End();
  std::string Peer() const;

  HttpCommon& common_;
  const sockaddr_storage address_;
  const socklen_t address_bytes_;
  const bool is_encrypted_;
  const std::unique_ptr<HttpStream> stream_;

  Phase phase_ = Phase::kGreeting;
  EventLoop::Time until_, since_;
  std::string received_;  // what has come and no request has taken
  std::unique_ptr<HttpRequestParser> parser_;
  std::shared_ptr<HttpRequest> request_;  // the one that is answered; null where none could be read
  HttpNext::WithBody with_body_;
  std::shared_ptr<BodyRoom> room_;
  bool is_whole_ = true;  // nothing of the request is left unread
  bool is_gone_ = false;  // the client sends no more
  // The answer on its way; written on the thread of the reply in kWorking, before `replied` is called.
  std::string head_, body_;
  size_t sent_ = 0;  // of both
  bool keep_ = false;
  bool out_of_memory_ = false;
  std::shared_ptr<void> held_;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_CONNECTION_H_
