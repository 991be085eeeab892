// SPDX-License-Identifier: Apache-2.0
#include "client/load/load_stream.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/load/answer_check.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {
namespace {

constexpr char kStreamMethod[] = "/vitrine.v1.Classifier/ClassifyStream";
// Smallest time_limit in nanoseconds, because the server rejects 0.
constexpr int64_t kShortestLimit = 1000;

// Appends the fields that differ between attempts (id and time limit) to the serialised request. Protobuf parses both
// parts as one message.
grpc::ByteBuffer Numbered(const grpc::ByteBuffer& request, uint64_t id, std::optional<int64_t> left) {
  v1::ClassifyRequest own;
  own.set_request_id(absl::StrCat(id));
  if (left.has_value()) own.set_time_limit(static_cast<float>(static_cast<double>(*left) / 1e9));
  std::vector<grpc::Slice> slices;
  (void)request.Dump(&slices);  // cannot fail for a buffer of slices
  slices.emplace_back(own.SerializeAsString());
  return {slices.data(), slices.size()};
}

}  // namespace

LoadStream::LoadStream(std::shared_ptr<Servers> servers, grpc::CompletionQueue& queue)
    : servers_(std::move(servers)), queue_(queue) {}

void LoadStream::Send(void* caller, const grpc::ByteBuffer& request, int64_t expires, int64_t now) {
  const std::lock_guard lock(mutex_);
  unsent_.push_back({caller, expires, &request});
  Advance(now);
}

void LoadStream::Advance(int64_t now) {
  if (unsent_.empty()) return;
  if (call_ == nullptr) return Open();
  if (started_ && !ending_ && !writing_ && sent_.size() < kInFlight) Write(now);
}

void LoadStream::Open() {
  started_ = writing_ = ending_ = finished_ = cancelled_ = unreadable_ = carried_ = false;
  context_.emplace();
  call_ = grpc::GenericStub(servers_->channel()).PrepareCall(&*context_, kStreamMethod, &queue_);
  call_->StartCall(&start_);
}

void LoadStream::Write(int64_t now) {
  const Waiting next = unsent_.front();
  unsent_.pop_front();
  const uint64_t id = next_id_++;
  std::optional<int64_t> left;
  if (next.expires != INT64_MAX) left = std::max(next.expires - now, kShortestLimit);
  sent_.emplace(id, next);
  writing_ = carried_ = true;
  call_->Write(Numbered(*next.request, id, left), &write_);
}

void LoadStream::OnEvent(void* tag, bool ok, int64_t now, Outcomes& outcomes) {
  const Tag& event = *static_cast<Tag*>(tag);
  LoadStream& stream = *event.stream;
  const std::lock_guard lock(stream.mutex_);
  switch (event.operation) {
    case Operation::kStart:
      if (!ok) return stream.Abandon();
      stream.started_ = true;
      stream.call_->Read(&stream.message_, &stream.read_);
      return stream.Advance(now);
    case Operation::kRead:
      return ok ? stream.OnRead(now, outcomes) : stream.Abandon();
    case Operation::kWrite:
      stream.writing_ = false;
      if (stream.finished_) return stream.End(now, outcomes);
      if (ok) stream.Advance(now);  // after a failed write, the call is ending, and the read reports this
      return;
    case Operation::kFinish:
      stream.finished_ = true;
      if (!stream.writing_) stream.End(now, outcomes);
      return;
  }
}

void LoadStream::OnRead(int64_t now, Outcomes& outcomes) {
  grpc::Slice slice;
  if (message_.TrySingleSlice(&slice).ok() || message_.DumpToSingleSlice(&slice).ok()) {
    OnAnswer({reinterpret_cast<const char*>(slice.begin()), slice.size()}, slice, outcomes);
  }
  message_.Clear();
  call_->Read(&message_, &read_);
  Advance(now);
}

void LoadStream::OnAnswer(absl::string_view bytes, const grpc::Slice& slice, Outcomes& outcomes) {
  const std::optional<StreamAnswerParts> parts = PartsOfStreamAnswer(bytes);
  uint64_t id = 0;
  const auto found = parts.has_value() && absl::SimpleAtoi(parts->request_id, &id) ? sent_.find(id) : sent_.end();
  if (found == sent_.end()) {
    // The answer belongs to no request, so the other answers cannot be trusted either.
    unreadable_ = true;
    context_->TryCancel();
    return;
  }
  const Waiting asked = found->second;
  sent_.erase(found);
  if (asked.given_up) return;
  Outcome outcome{asked.caller};
  v1::StreamError error;
  if (parts->response.has_value()) {
    const auto begin = static_cast<size_t>(parts->response->data() - bytes.data());
    const grpc::Slice response = slice.sub(begin, begin + parts->response->size());
    outcome.answer = grpc::ByteBuffer(&response, 1);
  } else if (parts->error.has_value() && error.ParseFromString(std::string(*parts->error)) && error.code() != 0) {
    outcome.status = grpc::Status(static_cast<grpc::StatusCode>(error.code()), error.message());
  } else {
    const grpc::Slice nothing("\xff", 1);  // not a valid ClassifyResponse, so it is reported as unreadable
    outcome.answer = grpc::ByteBuffer(&nothing, 1);
  }
  outcomes.push_back(std::move(outcome));
}

// Stops reading and requests the call's status.
void LoadStream::Abandon() {
  ending_ = true;
  call_->Finish(&status_, &finish_);
}

void LoadStream::End(int64_t now, Outcomes& outcomes) {
  if (unreadable_) {
    status_ = grpc::Status(grpc::StatusCode::INTERNAL, "the stream brought an answer to no request of it");
  } else if (status_.ok()) {
    status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server ended the stream before it had answered");
  } else if (!cancelled_) {
    status_ = grpc::Status(status_.error_code(), absl::StrCat("the stream ended: ", status_.error_message()));
  }
  for (const auto& [id, waiting] : sent_) {
    if (!waiting.given_up) outcomes.push_back({waiting.caller, status_});
  }
  sent_.clear();
  if (cancelled_ || !carried_) {
    for (const Waiting& waiting : unsent_) outcomes.push_back({waiting.caller, status_});
    unsent_.clear();
  }
  call_.reset();
  context_.reset();
  status_ = grpc::Status();
  Advance(now);
}

void LoadStream::Expire(int64_t now, Outcomes& outcomes) {
  const std::lock_guard lock(mutex_);
  const auto give_up = [&](const Waiting& waiting) {
    if (waiting.expires > now) return false;
    outcomes.push_back({waiting.caller, grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded")});
    return true;
  };
  for (auto& [id, waiting] : sent_) {
    if (!waiting.given_up) waiting.given_up = give_up(waiting);
  }
  std::erase_if(unsent_, give_up);
}

void LoadStream::Cancel() {
  const std::lock_guard lock(mutex_);
  if (call_ == nullptr) return;
  cancelled_ = true;
  context_->TryCancel();
}

bool LoadStream::IsOpen() {
  const std::lock_guard lock(mutex_);
  return call_ != nullptr;
}

}  // namespace vitrine
