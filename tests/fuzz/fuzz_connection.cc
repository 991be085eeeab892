// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz_connection.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz_rounds.h"
#include "tests/fuzz/http2_output.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

// Bits of the input's first byte.
enum Setting : uint8_t {
  kFromProxy = 1,    // the connection begins with bytes of the input that may be a PROXY header
  kFewPoints = 2,    // limits on abuse are low
  kSmallBuffer = 4,  // the kernel takes few bytes of responses at once
  kLowLimits = 8,    // limits on requests are low
  kHttp1 = 16,       // the client sends HTTP/1
  kCloses = 32,      // the client leaves at once, without reading the rest
  kReadOnly = 64,
  kLeaves = 128,  // the server has begun to shut down
};

constexpr CloseReason kLeavingReasons[] = {CloseReason::kShutdown, CloseReason::kAge, CloseReason::kIdle,
                                           CloseReason::kCertificate};
constexpr std::chrono::milliseconds kStuckRound{100};
// A long round that the event loop does not yet count as a pause of the process.
constexpr std::chrono::milliseconds kLongRound = EventLoop::kLongestRound;
constexpr int kMostStuck = 1000;   // rounds in which the server does not read
constexpr int kMostRounds = 4000;  // rounds until a connection without new bytes is idle or closed
constexpr size_t kMostUnsent = size_t{128} << 10;

// State that all connections of this process use, one after the other. Only the counters in this state carry over from
// one connection to the next.
const std::shared_ptr<HttpCommon>& Common() {
  static const auto& common = *new std::shared_ptr<HttpCommon>([] {
    auto made = std::make_shared<HttpCommon>();
    made->workers = std::make_unique<Workers>(Workers::Options());
    Require(made->workers->Start().ok());
    return made;
  }());
  return common;
}

std::vector<char>& Scratch() {
  static auto& scratch = *new std::vector<char>(size_t{64} << 10);
  return scratch;
}

class Connection {
 public:
  Connection(absl::string_view input, const FuzzRequests& requests, const FuzzServer& server)
      : server_(server), input_(input), setting_(input_.Byte()), client_(input_, requests, Has(kHttp1)) {
    int sockets[2];
    Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets) == 0);
    FileDescriptor accepted(sockets[0]);
    socket_ = FileDescriptor(sockets[1]);
    const int few = 4096;
    if (Has(kSmallBuffer)) setsockopt(accepted.get(), SOL_SOCKET, SO_SNDBUF, &few, sizeof(few));
    SetCommon();
    if (Has(kFromProxy)) out_ = input_.Take(input_.Byte());
    out_ += client_.Preface();
    sockaddr_storage address = {};
    address.ss_family = AF_INET;
    connection_ =
        std::make_shared<HttpConnection>(*loop_, std::move(accepted), address, nullptr, Has(kFromProxy), Common(),
                                         Scratch(), [this](HttpConnection&) { connection_ = nullptr; });
    watched_ = connection_;
  }

  void Run() {
    loop_->Post([this] { connection_->Begin(); });
    loop_->Run(FuzzRounds::kShortest, [this] {
      if (!AfterRound()) loop_->Stop();
    });
    const HttpCommon& common = *Common();
    Require(common.open == 0 && common.unsent == 0 && common.received->used() == 0);
  }

 private:
  // In phase kLast, the client waits until the connection is idle. In phase kGone, the client has left.
  enum class Phase { kSteps, kLast, kGone };

  bool Has(Setting setting) const { return (setting_ & setting) != 0; }

  void SetCommon() {
    HttpCommon& common = *Common();
    common.options = HttpServerOptions();
    common.options.read_only = Has(kReadOnly);
    common.options.max_body_bytes = 16 << 10;
    if (Has(kFewPoints)) {
      common.options.abuse = {.connection_burst = 20, .connection_rate = 1, .address_burst = 10, .address_rate = 1};
    }
    if (Has(kLowLimits)) {
      common.options.max_body_bytes = 64;
      common.options.max_head_bytes = 256;
      common.options.max_concurrent_streams = 2;
    }
    common.handler = [this](const std::shared_ptr<HttpRequest>& request) { return Handle(request); };
    common.received = server_.received;
    common.addresses = std::make_unique<AddressLimits>(common.options.abuse);
    common.is_leaving = Has(kLeaves);
    common.is_shutting_down = false;
  }

  // Calls the server's handler, and notes the objects that the transport must release.
  HttpHandling Handle(const std::shared_ptr<HttpRequest>& request) {
    held_.push_back(request);
    HttpHandling next = server_.handler(request);
    if (next.open == nullptr) return next;
    return HttpHandling::Stream([this, open = std::move(next.open)](std::shared_ptr<HttpStream> stream) {
      held_.push_back(stream);
      return open(std::move(stream));
    });
  }

  bool IsReleased() const {
    return watched_.expired() && server_.token.use_count() == references_ &&
           std::all_of(held_.begin(), held_.end(), [](const auto& each) { return each.expired(); });
  }

  // Runs after each round. Returns false once everything is released.
  bool AfterRound() {
    if (const std::shared_ptr<HttpConnection> open = connection_; open != nullptr) open->OnTick();
    const bool has_read = reads_ && Receive();
    Send();
    if (server_.token.use_count() > references_) server_.settle(*Common());
    const bool waits = waits_ > 0;
    if (waits) --waits_;
    rounds_.SetLength(waits || phase_ == Phase::kGone ? kLongRound : FuzzRounds::kShortest);
    if (waits) return true;
    if (phase_ == Phase::kSteps) {
      while (out_.size() < kMostUnsent && !input_.empty() && TakeStep()) {
      }
      Send();
      stuck_ = out_.empty() ? 0 : stuck_ + 1;
      if (stuck_ > 1) rounds_.SetLength(kStuckRound);
      if (stuck_ > kMostStuck) out_.clear();
      if (out_.empty() && input_.empty()) phase_ = Phase::kLast;
      return true;
    }
    Require(++last_rounds_ <= kMostRounds);
    if (phase_ == Phase::kLast) {
      if (Has(kCloses) || (rounds_.was_idle() && !has_read)) Leave();
      return true;
    }
    // If the client only stopped sending, the connection stays open until the server drops the responses that it keeps.
    if (connection_ == nullptr || !Has(kCloses)) server_.act(kDropAll);
    return !IsReleased();
  }

  void Leave() {
    Require(Common()->unsent == (connection_ == nullptr ? 0 : connection_->Describe().unsent_bytes));
    phase_ = Phase::kGone;
    last_rounds_ = 0;
    reads_ = !Has(kCloses);
    if (reads_) {
      shutdown(socket_.get(), SHUT_WR);
    } else {
      socket_ = FileDescriptor();
    }
  }

  bool Receive() {
    std::vector<char>& bytes = Scratch();
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    const absl::string_view received(bytes.data(), static_cast<size_t>(got));
    if (!std::exchange(has_received_, true)) is_http1_ = received[0] == 'H';
    Require(!is_http1_ || Has(kHttp1) || Has(kFromProxy));
    if (!is_http1_) output_.Take(received);
    return true;
  }

  void Send() {
    if (out_.empty() || !socket_.valid()) return;
    const ssize_t sent = send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) out_.erase(0, static_cast<size_t>(sent));
    if (sent < 0 && errno != EAGAIN) out_.clear();  // the server has closed the connection
  }

  // Takes a step of the input. Returns false if a round must run before the next step.
  bool TakeStep() {
    const std::shared_ptr<HttpConnection> open = connection_;  // null once it is closed
    const uint8_t step = input_.Byte();
    switch (step % 16) {
      case FuzzClient::kKinds:
        reads_ = !reads_;
        return false;
      case FuzzClient::kKinds + 1: {
        const CloseReason why = kLeavingReasons[input_.Byte() % std::size(kLeavingReasons)];
        if (open != nullptr) open->StartLeaving(why);
        return false;
      }
      case FuzzClient::kKinds + 2:
        Common()->is_shutting_down = true;
        if (open != nullptr) open->End();
        return false;
      case FuzzClient::kKinds + 3:
        server_.act(input_.Byte() % kDropAll);
        return false;
      case FuzzClient::kKinds + 4:
        waits_ = 1 + input_.Byte() / 8;
        return false;
      case FuzzClient::kKinds + 5:
        return false;
      default:
        out_ += client_.Step(step);
        return true;
    }
  }

  const FuzzServer& server_;
  const long references_ = server_.token.use_count();
  FuzzInput input_;
  const uint8_t setting_;
  FuzzClient client_;
  FuzzRounds rounds_;
  const std::shared_ptr<EventLoop> loop_ = *EventLoop::Make(&FuzzRounds::Now);
  FileDescriptor socket_;                       // the client's end of the connection
  std::shared_ptr<HttpConnection> connection_;  // null once it is closed
  std::weak_ptr<HttpConnection> watched_;
  std::vector<std::weak_ptr<void>> held_;  // objects that must be released
  Phase phase_ = Phase::kSteps;
  std::string out_;  // bytes that the client has not sent yet
  bool reads_ = true;
  bool has_received_ = false, is_http1_ = false;
  int stuck_ = 0, last_rounds_ = 0;
  int waits_ = 0;  // number of long rounds until the next step
  Http2Output output_;
};

}  // namespace

void RunFuzzConnection(absl::string_view input, const FuzzRequests& requests, const FuzzServer& server) {
  Connection(input, requests, server).Run();
}

}  // namespace vitrine
