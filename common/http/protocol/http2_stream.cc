// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/http2_stream.h"

#include <utility>

namespace vitrine {

std::vector<std::pair<std::shared_ptr<Http2Stream>, Http2Mailbox::Mail>> Http2Mailbox::Empty() {
  std::vector<std::pair<std::shared_ptr<Http2Stream>, Mail>> all;
  MutexLock lock(mutex_);
  is_attended_.store(false, std::memory_order_relaxed);
  all.reserve(listed_.size());
  for (std::shared_ptr<Http2Stream>& each : listed_) {
    each->is_listed_ = false;
    Mail mail = std::exchange(each->mail_, Mail());
    all.emplace_back(std::move(each), std::move(mail));
  }
  listed_.clear();
  return all;
}

Http2Stream::Http2Stream(int32_t id, std::shared_ptr<Watched> connection, Http2Mailbox& mailbox,
                         std::shared_ptr<std::atomic<int64_t>> live, std::atomic<int64_t>& all_unsent)
    : id(id), connection_(std::move(connection)), mailbox_(mailbox), live_(std::move(live)), all_unsent_(all_unsent) {
  live_->fetch_add(1, std::memory_order_relaxed);
}

Http2Stream::~Http2Stream() {
  live_->fetch_sub(1, std::memory_order_relaxed);
}

template <typename Change>
void Http2Stream::Post(Change change) {
  {
    MutexLock lock(mailbox_.mutex_);
    if (is_closed_) return;
    change(mail_);
    if (std::exchange(is_listed_, true)) return;
    mailbox_.listed_.push_back(shared_from_this());
    if (mailbox_.listed_.size() > 1 || mailbox_.is_attended_.load(std::memory_order_relaxed)) return;
  }
  connection_->Wake();
}

// Queues a part. If the stream is closed, the part stays with the caller, who destroys it after the lock is released.
void Http2Stream::Send(Part&& part) {
  const auto bytes = static_cast<int64_t>(part.bytes.size());
  Post([&](Http2Mailbox::Mail& mail) {
    unsent_.fetch_add(bytes, std::memory_order_relaxed);
    all_unsent_.fetch_add(bytes, std::memory_order_relaxed);
    mail.parts.push_back(std::move(part));
  });
}

void Http2Stream::Consume(size_t bytes) {
  if (connection_->loop().IsThisThread() && is_delivering_) {
    consumed_at_once_ += bytes;
  } else if (bytes > 0) {
    Post([bytes](Http2Mailbox::Mail& mail) { mail.consumed += bytes; });
  }
}

size_t Http2Stream::Deliver(absl::string_view bytes) {
  is_delivering_ = true;
  const std::shared_ptr<HttpStreamHandler> receiver = handler;
  receiver->OnData(bytes);
  is_delivering_ = false;
  return std::exchange(consumed_at_once_, 0);
}

void Http2Stream::SetBodyAwaited(bool awaited) {
  Post([awaited](Http2Mailbox::Mail& mail) { mail.body_awaited = awaited; });
}

void Http2Stream::Reset(uint32_t code) {
  Post([code](Http2Mailbox::Mail& mail) { mail.reset = code; });
}

void Http2Stream::NoteTaken(size_t bytes) {
  unsent_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  all_unsent_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Http2Stream::Close() {
  Http2Mailbox::Mail dropped;
  {
    MutexLock lock(mailbox_.mutex_);
    is_closed_ = true;
    dropped = std::exchange(mail_, Http2Mailbox::Mail());
  }
  NoteTaken(unsent_bytes());
  parts.clear();
}

}  // namespace vitrine
