// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_AUDIT_LOG_H_
#define VITRINE_SERVER_IDENTITY_AUDIT_LOG_H_

#include <google/protobuf/message.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

// Record of one admin action: its beginning, its result or its rejection.
struct AuditRecord {
  std::string caller;  // Caller::name, even if the call was not allowed
  std::string peer;    // address of the client, in gRPC's form
  std::string method;  // "/vitrine.v1.Admin/LoadModel"
  const google::protobuf::Message& arguments;
  std::optional<absl::Status> outcome = std::nullopt;  // result of the action; unset at its beginning
  absl::Duration took = absl::ZeroDuration();
};

// Log of admin actions: one JSON object per line, each written by a single write(). Thread-safe.
class AuditLog {
 public:
  // Opens the log for appending, creating it with mode 0600 if it does not exist. Empty path: records go to the
  // server's log at any --log-level. NOT_FOUND, PERMISSION_DENIED: the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path);
  ~AuditLog();

  // Writes a record. If the file was renamed or removed, for example by logrotate, opens a new file first. A line that
  // cannot be written goes to the server's log at any --log-level, so that every action is recorded.
  void Write(const AuditRecord& record);

  // Returns the line of a record, without its newline.
  static std::string Line(const AuditRecord& record, absl::Time now);

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  absl::Status Reopen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsStillThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the part of a line that a full disk accepted, so that the next record begins on a new line.
  void RemoveEnd(ssize_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_AUDIT_LOG_H_
