// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_LOAD_RECORD_H_
#define VITRINE_CLIENT_LOAD_LOAD_RECORD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/load/latency_histogram.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

inline constexpr int64_t kSecond = 1'000'000'000;  // nanoseconds

// The measured interval after the warm-up, in nanoseconds from the start of the load.
struct MeasuredInterval {
  int64_t from = 0;
  int64_t to = 0;
  bool Holds(int64_t time) const { return time >= from && time < to; }
  double Seconds() const { return static_cast<double>(to - from) / 1e9; }
};

// Maximum number of rejected images that a LoadRecord keeps.
inline constexpr size_t kMostRefused = 20;

// Codes of failed requests whose call returned OK. All other codes are gRPC's status codes.
inline constexpr int kWithoutPredictions = 100;
inline constexpr int kUnreadable = 101;  // the answer is not a valid ClassifyResponse

// Record of the requests that were due in the measured interval, and of the events during it.
//
// There are two ways of counting. The ledger and the latencies cover requests *due* in the interval, even if the answer
// comes later. Rates cover answers *during* the interval, so that late answers do not make a slow server look faster.
//
// Every sender and receiver of a load has its own record. Records can be added. Times are nanoseconds from the start.
class LoadRecord {
 public:
  // One second of the interval.
  struct Second {
    uint64_t due = 0;
    uint64_t not_sent = 0;
    uint64_t answered = 0;  // in this second, like all counts below
    uint64_t good = 0;
    uint64_t failed = 0;
    LatencyHistogram latency{LatencyHistogram::Precision::kTwoDigits};
    LatencyHistogram slip{LatencyHistogram::Precision::kTwoDigits};  // send delay of the requests due in this second

    void Add(const Second& other);
    void Compress();  // compresses the histograms of this second
  };
  struct ErrorCount {
    uint64_t count = 0;
    std::string first_message = {};
    LatencyHistogram latency;
  };
  struct ClassCount {
    uint64_t due = 0;
    uint64_t answered = 0;
    uint64_t good = 0;
    uint64_t not_sent = 0;
    uint64_t unanswered = 0;
    std::map<int, uint64_t> failed = {};  // count per code
    LatencyHistogram latency;
  };
  // Time per stage, from the sampled answers.
  struct Stages {
    LatencyHistogram queue, decode, compute, encode, server;
    LatencyHistogram outside;  // latency minus the server's total: network, transports, and waiting to be read
  };

  LoadRecord(const MeasuredInterval& interval, size_t classes);

  // Records that a request was sent at `now`. Requires `due` <= `now`.
  void Started(uint32_t request_class, int64_t due, int64_t now);
  // Records that a request was not sent, because too many requests had no answer.
  void NotSent(uint32_t request_class, int64_t due);
  // Records an answer. The answer is good if it came at most `deadline` nanoseconds after `due`.
  void Answered(uint32_t request_class, int64_t due, int64_t now, int64_t deadline);
  // Records that the server rejected the image of a request as unreadable. `request` is its index in the workload.
  // Keeps the first kMostRefused images.
  void Refused(uint32_t request, const std::string& message);
  // Records a call that ended with an error (`code` is a gRPC status code) or with an invalid answer (`code` is
  // kWithoutPredictions or kUnreadable).
  void Failed(uint32_t request_class, int64_t due, int64_t now, int code, const std::string& message);
  // Records that the run ended before the call ended.
  void Unanswered(uint32_t request_class, int64_t due);
  // Adds the stages, batch size and version of an answer with this `latency` to the sampled statistics.
  void Look(int64_t due, int64_t latency, const v1::ClassifyResponse& answer);

  // Adds the counts of `other`. Requires that both intervals have the same start, and that the classes are the same.
  // Does not change the end of this interval.
  void Add(const LoadRecord& other);

  // Shortens the interval, so that later events are not counted. Requires interval.from <= to <= interval.to.
  void EndAt(int64_t to) { interval_.to = to; }

  const MeasuredInterval& interval() const { return interval_; }
  // The ledger: due = answered + failed + not sent + unanswered.
  uint64_t due() const { return due_; }
  uint64_t started() const { return started_; }
  uint64_t answered() const { return answered_; }
  uint64_t good() const { return good_; }
  uint64_t failed() const { return failed_; }
  uint64_t not_sent() const { return not_sent_; }
  uint64_t unanswered() const { return unanswered_; }
  const std::map<int, ErrorCount>& errors() const { return errors_; }  // per code
  // reason for each of the first kMostRefused rejected requests, including requests of the warm-up
  const std::map<uint32_t, std::string>& refused() const { return refused_; }

  // Rates during the interval.
  double AnsweredPerSecond() const;
  double GoodPerSecond() const;
  double DuePerSecond() const;

  const LatencyHistogram& latency() const { return latency_; }  // latency of answers, from the scheduled start
  // Returns a quantile of `latency` among all due requests. A request without an answer counts as longer than all
  // answered requests. nullopt: the quantile falls on a request without an answer.
  std::optional<int64_t> QuantileOfDue(double quantile) const { return latency_.QuantileAmong(quantile, due_); }
  LatencyHistogram FailureLatency() const;                // latency of failed calls, over all codes
  const LatencyHistogram& slip() const { return slip_; }  // delay between due time and send
  const std::vector<ClassCount>& classes() const { return classes_; }
  const std::vector<Second>& seconds() const { return seconds_; }

  // Statistics of the sampled answers.
  uint64_t looked_at() const { return looked_at_; }
  uint64_t without_predictions() const;
  const Stages& stages() const { return stages_; }
  const std::map<int, uint64_t>& batch_images() const { return batch_images_; }
  double MeanBatchImages() const;
  const std::map<std::string, uint64_t>& served_by() const {
    return served_by_;
  }  // "model@version on device, precision"

 private:
  Second& SecondAt(int64_t time);

  MeasuredInterval interval_;
  uint64_t due_ = 0, started_ = 0, answered_ = 0, good_ = 0, failed_ = 0, not_sent_ = 0, unanswered_ = 0;
  std::map<int, ErrorCount> errors_;
  std::map<uint32_t, std::string> refused_;
  LatencyHistogram latency_, slip_;
  std::vector<ClassCount> classes_;
  std::vector<Second> seconds_;
  uint64_t looked_at_ = 0;
  Stages stages_;
  std::map<int, uint64_t> batch_images_;
  std::map<std::string, uint64_t> served_by_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_LOAD_RECORD_H_
