// SPDX-License-Identifier: Apache-2.0
#include "common/http/loop.h"

#include <pthread.h>

#include <algorithm>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include "common/http/network/network.h"

namespace vitrine {
namespace {

// Maximum number of bytes read from a connection in one round of the event loop.
constexpr size_t kScratchBytes = size_t{128} << 10;
// Interval at which timeouts are checked. A timeout takes effect at most this much too late.
constexpr std::chrono::milliseconds kTick{100};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpLoop>> HttpLoop::Make(std::shared_ptr<HttpCommon> common) {
  absl::StatusOr<std::shared_ptr<EventLoop>> events = EventLoop::Make();
  if (!events.ok()) return events.status();
  return std::unique_ptr<HttpLoop>(new HttpLoop(std::move(common), *std::move(events)));
}

HttpLoop::HttpLoop(std::shared_ptr<HttpCommon> common, std::shared_ptr<EventLoop> events)
    : common_(std::move(common)), events_(std::move(events)), scratch_(kScratchBytes) {}

HttpLoop::~HttpLoop() {
  StartEnding(absl::ZeroDuration());
  Join();
}

absl::Status HttpLoop::Start(std::function<void()> on_tick) {
  on_tick_ = std::move(on_tick);
  const auto run = [this] {
    pthread_setname_np(pthread_self(), "http");
    events_->Run(kTick, [this] { Tick(); });
  };
  try {
    thread_ =
        std::thread([this, run] { common_->options.on_thread != nullptr ? common_->options.on_thread(run) : run(); });
  } catch (const std::system_error&) {
    return absl::UnavailableError("the system allows the process no more threads");
  }
  return absl::OkStatus();
}

void HttpLoop::Adopt(Accepted accepted) {
  load_.fetch_add(1, std::memory_order_relaxed);
  if (events_->IsThisThread()) return AdoptHere(std::move(accepted));
  const auto shared = std::make_shared<Accepted>(std::move(accepted));
  events_->Post([this, shared] { AdoptHere(std::move(*shared)); });
}

void HttpLoop::AdoptHere(Accepted accepted) {
  if (is_ending_) {
    load_.fetch_sub(1, std::memory_order_relaxed);
    if (common_->options.observer != nullptr) common_->options.observer->OnRefused(CloseReason::kShutdown);
    return;
  }
  auto fresh = std::make_shared<HttpConnection>(*events_, std::move(accepted.socket), accepted.address,
                                                std::move(accepted.account), accepted.is_from_proxy, common_, scratch_,
                                                [this](HttpConnection& closed) { Forget(closed); });
  fresh->place = open_.size();
  open_.push_back(fresh);
  if (common_->options.observer != nullptr) common_->options.observer->OnAccepted();
  fresh->Begin();
}

void HttpLoop::Forget(HttpConnection& connection) {
  load_.fetch_sub(1, std::memory_order_relaxed);
  const size_t place = connection.place;  // the event loop keeps a closed connection until the end of the round
  std::swap(open_[place], open_.back());
  open_[place]->place = place;
  open_.pop_back();
}

bool HttpLoop::CloseIdlest() {
  std::shared_ptr<HttpConnection> idlest;
  for (const std::shared_ptr<HttpConnection>& each : open_) {
    if (!each->AwaitsClient()) continue;
    const auto rank = [](const HttpConnection& of) { return std::pair(of.HasRequests(), of.last_received()); };
    if (idlest == nullptr || rank(*each) < rank(*idlest)) idlest = each;
  }
  if (idlest != nullptr) idlest->Close(CloseReason::kConnectionLimit);
  return idlest != nullptr;
}

void HttpLoop::Tick() {
  if (on_tick_ != nullptr) on_tick_();
  // Runs backwards, because closing a connection moves the last connection to the index of the closed connection.
  for (size_t i = open_.size(); i-- > 0;) {
    if (i < open_.size()) std::shared_ptr<HttpConnection>(open_[i])->OnTick();
  }
  if (common_->unsent.load(std::memory_order_relaxed) > common_->options.max_unsent_bytes) KeepUnsentInBounds();
  if (is_ending_ && (open_.empty() || events_->now() >= ends_)) {
    CloseAll();
    if (open_.empty()) events_->Stop();
  }
}

// Called if all connections together have too many unsent bytes. Closes connections of this loop until the limit is
// kept, those with the oldest unread responses first. Skips connections that hold less than the average. Does nothing
// if the loop holds at most its share of the limit, because then another loop holds more than its share. Closes nothing
// if one connection holds all unsent bytes and has at most one request.
void HttpLoop::KeepUnsentInBounds() {
  struct Holder {
    EventLoop::Time since;
    int64_t bytes;
    std::shared_ptr<HttpConnection> connection;
  };
  std::vector<Holder> holders;
  int64_t here = 0;
  for (const std::shared_ptr<HttpConnection>& each : open_) {
    const std::optional<EventLoop::Time> since =
        each->protocol() == nullptr ? std::nullopt : each->protocol()->UnsentSince();
    if (!since.has_value()) continue;
    const HttpConnectionStatus status = each->Describe();
    if (status.streams <= 1 && status.unsent_bytes >= common_->unsent.load(std::memory_order_relaxed)) return;
    here += status.unsent_bytes;
    holders.push_back({*since, status.unsent_bytes, each});
  }
  if (here <= common_->options.max_unsent_bytes / std::max(common_->options.loops, 1)) return;
  const int64_t average = here / static_cast<int64_t>(holders.size());
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) { return a.since < b.since; });
  for (const Holder& each : holders) {
    if (common_->unsent.load(std::memory_order_relaxed) <= common_->options.max_unsent_bytes) return;
    if (each.bytes < average) continue;
    each.connection->CutOff(CloseReason::kUnsent, "too many bytes of responses are unread");
  }
}

// Closes all connections. A connection with a running handshake closes when the handshake ends.
void HttpLoop::CloseAll() {
  for (const std::shared_ptr<HttpConnection>& each : std::vector(open_)) each->Close(CloseReason::kShutdown);
}

std::future<void> HttpLoop::Visit(std::function<void(HttpConnection&)> visit) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> visited = done->get_future();
  events_->Post([this, visit = std::move(visit), done = std::move(done)] {
    for (size_t i = open_.size(); i-- > 0;) {
      if (i < open_.size()) visit(*std::shared_ptr<HttpConnection>(open_[i]));
    }
    done->set_value();
  });
  return visited;  // also ready if the loop has ended and dropped the work
}

void HttpLoop::StartEnding(absl::Duration grace) {
  events_->Post([this, grace] {
    is_ending_ = true;
    ends_ = events_->now() + Nanoseconds(grace);
    for (size_t i = open_.size(); i-- > 0;) {
      if (i < open_.size()) std::shared_ptr<HttpConnection>(open_[i])->End();
    }
    if (open_.empty()) events_->Stop();
  });
}

void HttpLoop::Join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace vitrine
