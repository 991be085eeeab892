// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_UNIX_LISTEN_H_
#define VITRINE_BASE_UNIX_LISTEN_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file/descriptor.h"

namespace vitrine {

// A listening socket in the file system, which does not block. Removes its file when it dies, unless another one is
// there by then.
class UnixListening {
 public:
  // `address` is "unix:/PATH" or "unix:///PATH". Only this user (and root) may connect: mode 0600 from its first
  // moment. A socket that a dead process left behind is replaced, one that somebody listens on is not. UNAVAILABLE and
  // why, with `purpose`, otherwise.
  static absl::StatusOr<std::unique_ptr<UnixListening>> Open(const std::string& address, const std::string& purpose);
  ~UnixListening();
  UnixListening(const UnixListening&) = delete;
  UnixListening& operator=(const UnixListening&) = delete;

  // "unix:///PATH".
  const std::string& address() const { return address_; }
  // The socket, once; its owner closes it before this dies.
  FileDescriptor TakeSocket() { return std::move(socket_); }
  // Removes the file. While the socket listens still: afterwards a successor may have put its own there. Idempotent.
  void Unlink();

 private:
  UnixListening(FileDescriptor socket, std::string path);

  FileDescriptor socket_;
  const std::string path_;
  const std::string address_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_unlinked_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_UNIX_LISTEN_H_
