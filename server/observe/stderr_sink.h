// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_STDERR_SINK_H_
#define VITRINE_SERVER_OBSERVE_STDERR_SINK_H_

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace vitrine {

// Returns the counter of log lines that could not be written.
std::atomic<uint64_t>& LostLogLines();

// Writes log lines to stderr or another file descriptor, without a buffer. A line counts as lost if it cannot be
// written completely, because the disk is full, the reader is gone, or the reader has read nothing for one second.
// After a partly written line, the next line begins on a new line. As long as the reader reads nothing, each further
// line is lost without a wait. Thread-safe.
class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StderrSink(int file = 2, std::atomic<uint64_t>& lost = LostLogLines());

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  // Returns the number of bytes that were written before an error; without an error, all bytes.
  size_t WriteAll(std::string_view text);

  const int file_;
  const size_t piece_;  // maximum bytes of one write
  std::atomic<uint64_t>& lost_;
  bool torn_ = false;      // true: the output ends in the middle of a line
  bool is_stuck_ = false;  // true: the reader took nothing at the last write
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_STDERR_SINK_H_
