// SPDX-License-Identifier: Apache-2.0
#include "common/http/network/byte_stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace vitrine {
namespace {

using Next = ByteStream::Result::Next;

bool WouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

class PlainSocket final : public ByteStream {
 public:
  explicit PlainSocket(int socket) : socket_(socket) {}

  Result Handshake() override { return {}; }

  Result Read(char* bytes, size_t size) override {
    const ssize_t got = recv(socket_, bytes, size, 0);
    if (got > 0) return {.next = Next::kGoOn, .bytes = static_cast<size_t>(got)};
    return {.next = got < 0 && WouldBlock() ? Next::kAwaitReadable : Next::kGone};
  }

  Result Write(absl::string_view first, absl::string_view second) override {
    iovec parts[2] = {{.iov_base = const_cast<char*>(first.data()), .iov_len = first.size()},
                      {.iov_base = const_cast<char*>(second.data()), .iov_len = second.size()}};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent >= 0) return {.next = Next::kGoOn, .bytes = static_cast<size_t>(sent)};
    return {.next = WouldBlock() ? Next::kAwaitWritable : Next::kGone};
  }

  void EndWriting() override { shutdown(socket_, SHUT_WR); }

 private:
  const int socket_;
};

}  // namespace

std::unique_ptr<ByteStream> PlainStream(int socket) {
  return std::make_unique<PlainSocket>(socket);
}

}  // namespace vitrine
