// SPDX-License-Identifier: Apache-2.0
#include "client/load/load_record.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Maximum number of classes whose histograms have full precision, about 170 KB each for latencies up to a second. With
// more classes, each histogram has about 25 KB.
constexpr size_t kPreciseClasses = 32;

int64_t Nanoseconds(float seconds) {
  return std::isfinite(seconds) ? static_cast<int64_t>(static_cast<double>(seconds) * 1e9) : 0;
}

}  // namespace

LoadRecord::LoadRecord(const MeasuredInterval& interval, size_t classes) : interval_(interval), classes_(classes) {
  if (classes <= kPreciseClasses) return;
  for (ClassCount& one : classes_) one.latency = LatencyHistogram(LatencyHistogram::Precision::kTwoDigits);
}

void LoadRecord::Second::Compress() {
  latency.Compress();
  slip.Compress();
}

void LoadRecord::Second::Add(const Second& other) {
  due += other.due;
  not_sent += other.not_sent;
  answered += other.answered;
  good += other.good;
  failed += other.failed;
  latency.Add(other.latency);
  slip.Add(other.slip);
}

LoadRecord::Second& LoadRecord::SecondAt(int64_t time) {
  const auto number = static_cast<size_t>((time - interval_.from) / kSecond);
  if (number >= seconds_.size()) {
    // Earlier seconds rarely get further values, so their histograms can be compressed.
    if (!seconds_.empty()) seconds_.back().Compress();
    seconds_.resize(number + 1);
  }
  return seconds_[number];
}

void LoadRecord::Started(uint32_t request_class, int64_t due, int64_t now) {
  if (!interval_.Holds(due)) return;
  ++due_;
  ++started_;
  ++classes_[request_class].due;
  slip_.Record(now - due);
  Second& second = SecondAt(due);
  ++second.due;
  second.slip.Record(now - due);
}

void LoadRecord::NotSent(uint32_t request_class, int64_t due) {
  if (!interval_.Holds(due)) return;
  ++due_;
  ++not_sent_;
  ++classes_[request_class].due;
  ++classes_[request_class].not_sent;
  Second& second = SecondAt(due);
  ++second.due;
  ++second.not_sent;
}

void LoadRecord::Answered(uint32_t request_class, int64_t due, int64_t now, int64_t deadline) {
  const bool good = now - due <= deadline;
  if (interval_.Holds(due)) {
    ++answered_;
    good_ += good;
    latency_.Record(now - due);
    ClassCount& one = classes_[request_class];
    ++one.answered;
    one.good += good;
    one.latency.Record(now - due);
  }
  if (interval_.Holds(now)) {
    Second& second = SecondAt(now);
    ++second.answered;
    second.good += good;
    second.latency.Record(now - due);
  }
}

void LoadRecord::Refused(uint32_t request, const std::string& message) {
  if (refused_.size() < kMostRefused) refused_.emplace(request, message);
}

void LoadRecord::Failed(uint32_t request_class, int64_t due, int64_t now, int code, const std::string& message) {
  if (interval_.Holds(now)) ++SecondAt(now).failed;
  if (!interval_.Holds(due)) return;
  ++failed_;
  ++classes_[request_class].failed[code];
  ErrorCount& error = errors_[code];
  if (error.count++ == 0) error.first_message = message;
  error.latency.Record(now - due);
}

void LoadRecord::Unanswered(uint32_t request_class, int64_t due) {
  if (!interval_.Holds(due)) return;
  ++unanswered_;
  ++classes_[request_class].unanswered;
}

void LoadRecord::Look(int64_t due, int64_t latency, const v1::ClassifyResponse& answer) {
  if (!interval_.Holds(due)) return;
  ++looked_at_;
  if (answer.has_timings()) {
    const v1::Timings& timings = answer.timings();
    stages_.queue.Record(Nanoseconds(timings.queue()));
    stages_.decode.Record(Nanoseconds(timings.decode()));
    stages_.compute.Record(Nanoseconds(timings.compute()));
    stages_.encode.Record(Nanoseconds(timings.encode()));
    stages_.server.Record(Nanoseconds(timings.total()));
    stages_.outside.Record(latency - Nanoseconds(timings.total()));
  }
  if (answer.has_batch()) ++batch_images_[answer.batch().images()];
  if (answer.has_served_by()) {
    const v1::ServedBy& by = answer.served_by();
    ++served_by_[absl::StrCat(by.model(), "@", by.version(), " on ", by.device(), ", ", by.precision())];
  }
}

void LoadRecord::Add(const LoadRecord& other) {
  due_ += other.due_;
  started_ += other.started_;
  answered_ += other.answered_;
  good_ += other.good_;
  failed_ += other.failed_;
  not_sent_ += other.not_sent_;
  unanswered_ += other.unanswered_;
  for (const auto& [code, error] : other.errors_) {
    ErrorCount& mine = errors_[code];
    if (mine.count == 0) mine.first_message = error.first_message;
    mine.count += error.count;
    mine.latency.Add(error.latency);
  }
  for (const auto& [request, message] : other.refused_) Refused(request, message);
  latency_.Add(other.latency_);
  slip_.Add(other.slip_);
  for (size_t i = 0; i < classes_.size(); ++i) {
    classes_[i].due += other.classes_[i].due;
    classes_[i].answered += other.classes_[i].answered;
    classes_[i].good += other.classes_[i].good;
    classes_[i].not_sent += other.classes_[i].not_sent;
    classes_[i].unanswered += other.classes_[i].unanswered;
    for (const auto& [code, count] : other.classes_[i].failed) classes_[i].failed[code] += count;
    classes_[i].latency.Add(other.classes_[i].latency);
  }
  seconds_.resize(std::max(seconds_.size(), other.seconds_.size()));
  for (size_t i = 0; i < other.seconds_.size(); ++i) {
    seconds_[i].Add(other.seconds_[i]);
    seconds_[i].Compress();
  }
  looked_at_ += other.looked_at_;
  stages_.queue.Add(other.stages_.queue);
  stages_.decode.Add(other.stages_.decode);
  stages_.compute.Add(other.stages_.compute);
  stages_.encode.Add(other.stages_.encode);
  stages_.server.Add(other.stages_.server);
  stages_.outside.Add(other.stages_.outside);
  for (const auto& [images, count] : other.batch_images_) batch_images_[images] += count;
  for (const auto& [name, count] : other.served_by_) served_by_[name] += count;
}

double LoadRecord::AnsweredPerSecond() const {
  uint64_t sum = 0;
  for (const Second& second : seconds_) sum += second.answered;
  return interval_.Seconds() > 0 ? static_cast<double>(sum) / interval_.Seconds() : 0;
}

double LoadRecord::GoodPerSecond() const {
  uint64_t sum = 0;
  for (const Second& second : seconds_) sum += second.good;
  return interval_.Seconds() > 0 ? static_cast<double>(sum) / interval_.Seconds() : 0;
}

double LoadRecord::DuePerSecond() const {
  return interval_.Seconds() > 0 ? static_cast<double>(due_) / interval_.Seconds() : 0;
}

uint64_t LoadRecord::without_predictions() const {
  const auto found = errors_.find(kWithoutPredictions);
  return found == errors_.end() ? 0 : found->second.count;
}

LatencyHistogram LoadRecord::FailureLatency() const {
  LatencyHistogram all;
  for (const auto& [code, error] : errors_) all.Add(error.latency);
  return all;
}

double LoadRecord::MeanBatchImages() const {
  double images = 0, batches = 0;
  for (const auto& [size, count] : batch_images_) {
    images += static_cast<double>(size) * static_cast<double>(count);
    batches += static_cast<double>(count);
  }
  return batches > 0 ? images / batches : 0;
}

}  // namespace vitrine
