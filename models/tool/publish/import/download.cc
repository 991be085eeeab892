// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/file/descriptor.h"
#include "common/sha256.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

absl::Status DiskFault(const std::filesystem::path& file) {
  return absl::ErrnoToStatus(errno, file.native());
}

absl::StatusOr<int64_t> SizeOf(int file, const std::filesystem::path& path) {
  struct stat status;
  if (fstat(file, &status) != 0) return DiskFault(path);
  return static_cast<int64_t>(status.st_size);
}

absl::StatusOr<std::string> DigestOf(int file, const std::filesystem::path& path) {
  Sha256Stream digest;
  std::vector<char> piece(size_t{1} << 20);
  for (off_t at = 0;;) {
    const ssize_t got = pread(file, piece.data(), piece.size(), at);
    if (got < 0) return DiskFault(path);
    if (got == 0) return digest.Hex();
    digest.Update(std::string_view(piece.data(), static_cast<size_t>(got)));
    at += got;
  }
}

// A partial download. Only this process writes it.
class Part {
 public:
  Part(const Download& download, FileDescriptor file, std::filesystem::path path, ProgressDisplay& display)
      : download_(download), file_(std::move(file)), path_(std::move(path)), display_(display) {}

  static absl::StatusOr<Part> Open(const Download& download, ProgressDisplay& display) {
    std::filesystem::path path = download.file;
    path += ".part";
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (file.get() < 0) return DiskFault(path);
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return absl::AbortedError(
          absl::StrCat(path.native(), ": another import is downloading it; wait until that ends"));
    }
    // Another import may have renamed the file between open and lock.
    struct stat opened, named;
    if (fstat(file.get(), &opened) != 0 || stat(path.c_str(), &named) != 0 || opened.st_ino != named.st_ino) {
      return absl::AbortedError(absl::StrCat(path.native(), ": another import has just downloaded it; start again"));
    }
    return Part(download, std::move(file), std::move(path), display);
  }

  absl::Status FetchRest() {
    for (;;) {
      ASSIGN_OR_RETURN(const int64_t before, SizeOf(file_.get(), path_));
      if (before == download_.bytes) return absl::OkStatus();
      if (download_.bytes >= 0 && before > download_.bytes) {
        RETURN_IF_ERROR(Clear());
        continue;
      }
      size_ = before;
      answer_status_ = 0;
      const absl::StatusOr<FetchReply> reply = download_.ask(
          {.url = download_.url, .from = before, .sink = [this](const FetchReply& head, std::string_view bytes) {
             return Take(head, bytes);
           }});
      const bool broke = absl::IsUnavailable(reply.status());
      if (broke && size_ > before) continue;
      if (broke) return Continues(reply.status().message());
      RETURN_IF_ERROR(reply.status());
      if (reply->status == 416 && before > 0 && !std::exchange(began_anew_, true)) {
        RETURN_IF_ERROR(Clear());
        continue;
      }
      if (reply->status != 200 && reply->status != 206) {
        const std::string why = absl::StrCat(download_.url, " returned status ", reply->status);
        if (reply->status == 404) return absl::NotFoundError(why);
        if (reply->status == 416) return absl::DataLossError(why);  // the server's file is shorter
        absl::Status later = Continues(why);
        // PERMISSION_DENIED concerns only this file: a server may refuse one file and still send other files.
        const bool is_refused = reply->status == 401 || reply->status == 403;
        return is_refused ? absl::PermissionDeniedError(later.message()) : later;
      }
      if (download_.bytes < 0 || size_ == download_.bytes) return absl::OkStatus();
      if (size_ <= before) return absl::DataLossError(absl::StrCat(download_.url, " ended early"));
    }
  }

  // Renames the file if its digest is correct; otherwise removes it.
  absl::Status Finish() {
    ASSIGN_OR_RETURN(const std::string digest, DigestOf(file_.get(), path_));
    if (digest != download_.sha256) {
      std::error_code ignored;
      std::filesystem::remove(path_, ignored);
      return absl::DataLossError(absl::StrCat(download_.url, " has SHA-256 ", digest, ", but ", download_.sha256,
                                              " was expected; the file was removed and nothing was published"));
    }
    if (fsync(file_.get()) != 0 || rename(path_.c_str(), download_.file.c_str()) != 0) return DiskFault(path_);
    return absl::OkStatus();
  }

 private:
  absl::Status Continues(absl::string_view why) const {
    return absl::UnavailableError(absl::StrCat(why, "; ", size_, " bytes are kept and the same command continues"));
  }

  absl::Status Clear() {
    size_ = 0;
    return ftruncate(file_.get(), 0) == 0 ? absl::OkStatus() : DiskFault(path_);
  }

  absl::Status Take(const FetchReply& head, std::string_view bytes) {
    if (answer_status_ != head.status || answer_range_ != head.Header("content-range")) {
      RETURN_IF_ERROR(BeginAnswer(head));
    }
    const int64_t most = download_.bytes >= 0 ? download_.bytes : download_.most_bytes;
    if (size_ + static_cast<int64_t>(bytes.size()) > most) {
      return absl::DataLossError(absl::StrCat(download_.url, " sends more than the ", most, " bytes that it ",
                                              download_.bytes >= 0 ? "has" : "may have"));
    }
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t wrote = pwrite(file_.get(), bytes.data() + done, bytes.size() - done, size_);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return DiskFault(path_);
      done += static_cast<size_t>(wrote);
      size_ += wrote;
    }
    Show();
    return absl::OkStatus();
  }

  // Checks the status and range of a new response. A server without range support sends the whole file with status 200;
  // the download then starts again.
  absl::Status BeginAnswer(const FetchReply& head) {
    answer_status_ = head.status;
    answer_range_ = head.Header("content-range");
    if (head.status == 200) return Clear();
    if (absl::StartsWith(answer_range_, absl::StrCat("bytes ", size_, "-"))) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(download_.url, " was requested from byte ", size_, ", but sent \"", answer_range_, "\""));
  }

  void Show() {
    const int64_t all = download_.bytes;
    const double share = all > 0 ? static_cast<double>(size_) / static_cast<double>(all) : 0;
    const std::string of = all > 0 ? absl::StrFormat(" of %.1f", static_cast<double>(all) / 1e6) : "";
    display_.Update(std::min(1.0, share), absl::StrFormat("%.1f%s MB", static_cast<double>(size_) / 1e6, of),
                    absl::Now());
  }

  const Download& download_;
  FileDescriptor file_;
  std::filesystem::path path_;
  ProgressDisplay& display_;
  // true after the server rejected the range and the download restarted, which happens at most once
  bool began_anew_ = false;
  int64_t size_ = 0;       // bytes received
  int answer_status_ = 0;  // status of the current response
  std::string answer_range_ = {};
};

bool IsThere(const Download& download) {
  const FileDescriptor file(open(download.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  const absl::StatusOr<std::string> digest = DigestOf(file.get(), download.file);
  return digest.ok() && *digest == download.sha256;
}

}  // namespace

absl::Status Fetch(const Download& download, ProgressDisplay& display) {
  if (IsThere(download)) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(download.file.parent_path(), error);
  if (error) return absl::ErrnoToStatus(error.value(), download.file.parent_path().native());
  ASSIGN_OR_RETURN(Part part, Part::Open(download, display));
  RETURN_IF_ERROR(part.FetchRest());
  return part.Finish();
}

}  // namespace vitrine
