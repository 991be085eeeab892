// SPDX-License-Identifier: Apache-2.0
#include "server/observe/stderr_sink.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace vitrine {
namespace {

// Writes the text. Returns the number of bytes written: all, or those before an error.
size_t WriteAll(int file, std::string_view text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t more = write(file, text.data() + written, text.size() - written);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    written += static_cast<size_t>(more);
  }
  return written;
}

}  // namespace

std::atomic<uint64_t>& LostLogLines() {
  static std::atomic<uint64_t> lines = 0;
  return lines;
}

void StderrSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  if (torn_) line.push_back('\n');
  formatter_->format(message, line);
  const size_t written = WriteAll(file_, {line.data(), line.size()});
  if (written == line.size()) {
    torn_ = false;
    return;
  }
  if (written > 0) torn_ = line[written - 1] != '\n';
  lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace vitrine
