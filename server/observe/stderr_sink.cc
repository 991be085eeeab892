// SPDX-License-Identifier: Apache-2.0
#include "server/observe/stderr_sink.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "absl/time/time.h"

namespace vitrine {
namespace {

// Maximum wait for the reader of a pipe. Requests wait for the log, so without this limit a reader that hangs would
// stop the service.
constexpr absl::Duration kPatience = absl::Seconds(1);

bool IsRegular(int file) {
  struct stat facts;
  return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

// Returns false if the file does not accept bytes within `patience`. Returns true on an error, because the next write
// reports the error.
bool AwaitRoom(int file, absl::Duration patience) {
  pollfd waiting = {.fd = file, .events = POLLOUT, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(patience)));
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace

std::atomic<uint64_t>& LostLogLines() {
  static std::atomic<uint64_t> lines = 0;
  return lines;
}

StderrSink::StderrSink(int file, std::atomic<uint64_t>& lost)
    : file_(file), piece_(IsRegular(file) ? std::string_view::npos : PIPE_BUF), lost_(lost) {}

// Writes at most `piece_` bytes at once: a pipe that is ready accepts PIPE_BUF bytes without blocking.
size_t StderrSink::WriteAll(std::string_view text) {
  size_t written = 0;
  while (written < text.size()) {
    if (!AwaitRoom(file_, is_stuck_ ? absl::ZeroDuration() : kPatience)) {
      is_stuck_ = true;
      return written;
    }
    const ssize_t more = write(file_, text.data() + written, std::min(text.size() - written, piece_));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    written += static_cast<size_t>(more);
  }
  is_stuck_ = false;
  return written;
}

void StderrSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  if (torn_) line.push_back('\n');
  formatter_->format(message, line);
  const size_t written = WriteAll({line.data(), line.size()});
  if (written == line.size()) {
    torn_ = false;
    return;
  }
  if (written > 0) torn_ = line[written - 1] != '\n';
  lost_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace vitrine
