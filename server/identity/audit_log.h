// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_AUDIT_LOG_H_
#define VITRINE_SERVER_IDENTITY_AUDIT_LOG_H_

#include <google/protobuf/message.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace vitrine {

// One admin action that begins, or was done or refused.
struct AuditRecord {
  std::string caller;  // Caller::name, also where the call was not allowed
  std::string peer;    // where the connection comes from, as gRPC writes it
  std::string method;  // "/vitrine.v1.Admin/LoadModel"
  const google::protobuf::Message& arguments;
  std::optional<absl::Status> outcome = std::nullopt;  // nothing: it begins
  absl::Duration took = absl::ZeroDuration();
};

// Who did what to the server: a JSON object a line, each written whole in one write. Thread-safe.
class AuditLog {
 public:
  // Appends to the file, made with mode 0600 if it is not there; an empty path writes to the server's log, whatever its
  // level. NOT_FOUND, PERMISSION_DENIED: the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path);
  ~AuditLog();

  // A file that was renamed or removed (logrotate) is opened anew first. A line that cannot be written goes to the
  // server's log, whatever its level: an action that was done leaves a trace.
  void Write(const AuditRecord& record);

  // The line, without its end.
  static std::string Line(const AuditRecord& record, absl::Time now);

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  absl::Status Reopen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsStillThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_AUDIT_LOG_H_
