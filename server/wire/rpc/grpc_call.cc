// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_call.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/http/body.h"
#include "server/process/shed.h"
#include "server/wire/rpc/grpc_server.h"
#include "server/wire/rpc/grpc_status.h"
#include "server/wire/rpc/grpc_wire.h"

namespace vitrine {
namespace {

// Minimum size in bytes of a message that is compressed.
constexpr size_t kLeastCompressed = size_t{1} << 10;
// Retry delay of a call that was rejected because too much work waits for a worker thread.
constexpr absl::Duration kWorkersRetry = absl::Milliseconds(200);

HttpHeaders HeadOf(const HttpRequest& request) {
  HttpHeaders head = {{":status", "200"}, {"content-type", "application/grpc"}};
  for (const auto& [name, value] : request.answer_headers) head.emplace_back(absl::AsciiStrToLower(name), value);
  return head;
}

void Append(HttpHeaders& to, HttpHeaders more) {
  for (auto& each : more) to.push_back(std::move(each));
}

}  // namespace

HttpStream::Part TrailersOnly(const HttpRequest& request, const absl::Status& status, HttpHeaders beside) {
  HttpStream::Part part = {.head = HeadOf(request), .is_last = true};
  Append(part.head, std::move(beside));
  Append(part.head, GrpcTrailers(status));
  return part;
}

GrpcCall::GrpcCall(GrpcOpening opening, int64_t max_message_bytes, bool is_single)
    : opening_(std::move(opening)),
      max_message_bytes_(std::min(max_message_bytes, opening_.server.options().max_message_bytes)),
      is_single_(is_single),
      reader_(max_message_bytes_, opening_.is_gzip, opening_.server.options().received),
      taken_{.share = BudgetShare(opening_.server.options().received)},
      unread_{.share = BudgetShare(opening_.server.options().received)} {
  opening_.server.calls_.fetch_add(1, std::memory_order_relaxed);
  Await(is_single);
}

void GrpcCall::Begin() {
  Start();
  if (opening_.deadline == absl::InfiniteFuture()) return;
  expiring_ = opening_.server.AddExpiring(*this);
}

GrpcCall::~GrpcCall() {
  if (expiring_.has_value()) {
    MutexLock lock(opening_.server.mutex_);
    opening_.server.expiring_.erase(*expiring_);
  }
  std::atomic<int64_t>& calls = opening_.server.calls_;
  if (calls.fetch_sub(1, std::memory_order_acq_rel) == 1) calls.notify_all();
}

void GrpcCall::OnData(absl::string_view bytes) {
  bool is_full = false;
  {
    MutexLock lock(read_mutex_);
    if (is_over_) return opening_.stream->Consume(bytes.size());
    if (is_reading_ || is_paused_) {
      is_full = !unread_.share.Add(static_cast<int64_t>(bytes.size()));
      if (!is_full) {
        unread_.bytes.append(bytes.data(), bytes.size());
        return;
      }
    } else {
      is_reading_ = true;
    }
  }
  is_full ? Fault(NoRoomError()) : Read(bytes);
}

void GrpcCall::OnEnd() {
  {
    MutexLock lock(read_mutex_);
    has_ended_ = true;
    if (is_reading_ || is_paused_ || is_over_) return;
    is_reading_ = true;
  }
  Read({});
}

void GrpcCall::OnTooSlow() {
  Fault(absl::DeadlineExceededError("the message took too long to arrive"));
}

void GrpcCall::OnClosed(bool) {
  EndReading();
  OnGone();
}

void GrpcCall::Unread::Clear() {
  if (bytes.empty()) return;
  std::string().swap(bytes);  // frees the memory, which an assignment would keep
  read = 0;
  share.Release();
}

void GrpcCall::Read(absl::string_view bytes) {
  do {
    while (!bytes.empty()) {
      const size_t before = bytes.size();
      absl::StatusOr<std::optional<MessageReader::Message>> message = reader_.Take(bytes);
      opening_.stream->Consume(before - bytes.size());
      if (!message.ok()) {
        Fault(message.status());
      } else if (message->has_value() && (*message)->is_compressed) {
        if (Keep(bytes)) return Decompress(**std::move(message));
        Fault(NoRoomError());
      } else if (message->has_value()) {
        OnMessage(std::move((*message)->received));
      }
      if (!bytes.empty() && StopReading(bytes)) return;
    }
    Await(is_single_ || reader_.is_within_message());
  } while (NextBytes(bytes));
}

bool GrpcCall::Keep(absl::string_view rest) {
  if (!taken_.bytes.empty()) {  // `rest` is part of taken_, so the bytes need no copy
    taken_.read = taken_.bytes.size() - rest.size();
    return true;
  }
  if (rest.empty()) return true;
  if (!taken_.share.Add(static_cast<int64_t>(rest.size()))) return false;
  taken_.bytes = std::string(rest);
  return true;
}

bool GrpcCall::StopReading(absl::string_view rest) {
  {
    MutexLock lock(read_mutex_);
    if (!is_over_ && !is_paused_) return false;
  }
  if (!Keep(rest)) Fault(NoRoomError());
  MutexLock lock(read_mutex_);
  if (!is_over_ && !is_paused_) return false;
  is_reading_ = false;
  if (is_over_) {
    opening_.stream->Consume(rest.size());
    taken_.Clear();
  } else {
    Await(false);
  }
  return true;
}

bool GrpcCall::NextBytes(absl::string_view& bytes) {
  {
    MutexLock lock(read_mutex_);
    taken_.Clear();
    if (!is_over_ && !is_paused_ && !unread_.bytes.empty()) {
      std::swap(taken_, unread_);
      bytes = taken_.rest();
      return true;
    }
    if (is_paused_) Await(false);
    is_reading_ = false;
    if (is_over_ || is_paused_ || !has_ended_) return false;
    is_over_ = true;
  }
  if (reader_.is_within_message()) {
    OnFault(GrpcProtocolError("Unable to parse request: the body ends within a message"));
  } else {
    OnHalfClosed();
  }
  return false;
}

void GrpcCall::Decompress(MessageReader::Message message) {
  ReadLater([this, received = std::move(message.received)] {
    if (cancelled()->load(std::memory_order_acquire)) return;
    OnMessage(Decompressed(*received, max_message_bytes_, server().options().received));
  });
}

void GrpcCall::ReadLater(std::function<void()> first) {
  const absl::Status taken = RunOn(server().body_workers(), network(), [this, first = std::move(first)]() mutable {
    if (first != nullptr) std::exchange(first, nullptr)();
    const absl::string_view rest = taken_.rest();
    if (rest.empty() || !StopReading(rest)) Read(rest);
  });
  if (taken.ok()) return;
  Fault(taken);
  MutexLock lock(read_mutex_);
  is_reading_ = false;
  taken_.Clear();
}

void GrpcCall::Fault(const absl::Status& why) {
  if (EndReading()) OnFault(why);
}

bool GrpcCall::EndReading() {
  MutexLock lock(read_mutex_);
  unread_.Clear();
  if (!is_reading_) taken_.Clear();
  return !std::exchange(is_over_, true);
}

void GrpcCall::PauseReading() {
  MutexLock lock(read_mutex_);
  is_paused_ = true;
}

void GrpcCall::ResumeReading() {
  {
    MutexLock lock(read_mutex_);
    if (!std::exchange(is_paused_, false) || is_reading_ || is_over_) return;
    if (taken_.rest().empty() && unread_.bytes.empty() && !has_ended_) return;
    is_reading_ = true;
  }
  ReadLater(nullptr);
}

void GrpcCall::Await(bool body) {
  if (std::exchange(awaits_body_, body) != body) opening_.stream->SetBodyAwaited(body);
}

void GrpcCall::SendMessage(std::string frame, std::shared_ptr<void> held) {
  Send(std::move(frame), nullptr, std::move(held));
}

void GrpcCall::Finish(const absl::Status& status, std::shared_ptr<void> held) {
  Send({}, &status, std::move(held));
}

void GrpcCall::FinishWith(std::string frame, std::shared_ptr<void> held) {
  const absl::Status ok;
  Send(std::move(frame), &ok, std::move(held));
}

void GrpcCall::Send(std::string frame, const absl::Status* end, std::shared_ptr<void> held) {
  // If the part is not sent, it is destroyed without the lock, because destroying `held` may send another frame. No
  // other reference to `held` is kept here: `held` must be released as soon as the client has the part, because the
  // client may send its next request before this thread continues.
  HttpStream::Part part = {.bytes = std::move(frame), .is_last = end != nullptr, .held = std::move(held)};
  if (end != nullptr) {
    part.trailers = GrpcTrailers(*end);
    Append(part.trailers, trailing_metadata_);
  }
  {
    MutexLock lock(send_mutex_);
    if (std::exchange(has_finished_, has_finished_ || part.is_last)) return;
    if (!std::exchange(has_begun_, true)) {
      part.head = HeadOf(request());
      if (part.is_last && part.bytes.empty()) {
        Append(part.head, std::exchange(part.trailers, HttpHeaders()));
      } else {
        part.head.emplace_back("grpc-accept-encoding", server().options().takes_gzip ? "identity, gzip" : "identity");
        if (opening_.wants_gzip) part.head.emplace_back("grpc-encoding", "gzip");
      }
      Append(part.head, initial_metadata_);
    }
    opening_.stream->Send(std::move(part));
  }
  if (end != nullptr) EndReading();
}

void GrpcCall::Compress(std::string frame, std::function<void(std::string)> send) {
  if (!opening_.wants_gzip || frame.size() < kLeastCompressed) return send(std::move(frame));
  const auto whole = std::make_shared<std::string>(std::move(frame));
  if (!RunOn(server().body_workers(), network(), [whole, send] { send(GzipFrame(std::move(*whole))); }).ok()) {
    send(std::move(*whole));
  }
}

absl::Status GrpcCall::RunOn(Workers& workers, const std::string& account, std::function<void()> work) {
  const Workers::Result result = workers.Do(account, [self = shared_from_this(), work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      spdlog::error("a call failed on its worker thread: {}", error.what());
      self->Finish(absl::InternalError("the server failed while it handled the call"));
    }
  });
  switch (result) {
    case Workers::Result::kQueued:
      break;
    case Workers::Result::kFull:
      return ShedError(ShedReason::kRequests, "too many calls of all callers wait for a worker thread", kWorkersRetry);
    case Workers::Result::kAccountFull:
      return ShedError(ShedReason::kQuota, "too many calls of the caller wait for a worker thread", kWorkersRetry);
  }
  return absl::OkStatus();
}

}  // namespace vitrine
