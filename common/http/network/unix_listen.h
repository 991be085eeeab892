// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_NETWORK_UNIX_LISTEN_H_
#define VITRINE_COMMON_HTTP_NETWORK_UNIX_LISTEN_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"

namespace vitrine {

// A non-blocking listening unix socket. The destructor removes the file if the file still belongs to this socket.
class UnixListening {
 public:
  // Listens on `address`, "unix:/PATH" or "unix:///PATH". Only this user and root can connect: the file has mode 0600
  // from its creation. Replaces the socket of a dead process. UNAVAILABLE, with the reason and `purpose`: the socket is
  // in use, or another error.
  static absl::StatusOr<std::unique_ptr<UnixListening>> Open(const std::string& address, const std::string& purpose);
  ~UnixListening();
  UnixListening(const UnixListening&) = delete;
  UnixListening& operator=(const UnixListening&) = delete;

  // Returns "unix:///PATH".
  const std::string& address() const { return address_; }
  // Returns the socket; may be called once. The caller must close the socket before this object is destroyed.
  FileDescriptor TakeSocket() { return std::move(socket_); }
  // Removes the file. Call it while the socket still listens; later the file may belong to another process's socket.
  // Idempotent.
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

#endif  // VITRINE_COMMON_HTTP_NETWORK_UNIX_LISTEN_H_
