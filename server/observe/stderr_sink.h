// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_STDERR_SINK_H_
#define VITRINE_SERVER_OBSERVE_STDERR_SINK_H_

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace vitrine {

// Returns the counter of log lines that could not be written.
std::atomic<uint64_t>& LostLogLines();

// Writes log lines to stderr or another file descriptor, without a buffer. A line that could not be written completely
// (disk full, reader gone) counts as lost; the next line begins on a new line. Thread-safe.
class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StderrSink(int file = 2, std::atomic<uint64_t>& lost = LostLogLines()) : file_(file), lost_(lost) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  const int file_;
  std::atomic<uint64_t>& lost_;
  bool torn_ = false;  // the output ends in the middle of a line
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_STDERR_SINK_H_
