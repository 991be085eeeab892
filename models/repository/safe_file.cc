// SPDX-License-Identifier: Apache-2.0
#include "models/repository/safe_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

// O_NONBLOCK: a FIFO in place of a file must not block the reader.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

}  // namespace

absl::StatusOr<FileDescriptor> OpenFolder(const std::filesystem::path& path) {
  FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return FileError(errno, Quoted(path.native()));
  return folder;
}

absl::StatusOr<FileDescriptor> OpenBeneath(const FileDescriptor& folder, const std::string& path) {
  // The kernel would silently cut the name at a NUL.
  if (path.empty() || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("not a file name: ", Quoted(path)));
  }
  open_how how = {};
  how.flags = kReadFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  while (true) {
    FileDescriptor file(static_cast<int>(syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof(how))));
    if (file.valid()) return file;
    if (errno == EINTR || errno == EAGAIN) continue;  // EAGAIN: a concurrent rename disturbed the lookup
    // Sandboxes that do not support openat2 return EPERM.
    if (errno == ENOSYS || errno == EPERM) return OpenBeneathByComponents(folder, path);
    return FileError(errno, Quoted(path));
  }
}

absl::StatusOr<FileDescriptor> OpenBeneathByComponents(const FileDescriptor& folder, const std::string& path) {
  const std::vector<std::string> components = absl::StrSplit(path, '/');
  FileDescriptor at;
  for (size_t i = 0; i < components.size(); ++i) {
    const std::string& component = components[i];
    if (component.empty() || component == "." || component == ".." || component.find('\0') != std::string::npos) {
      return FileError(EXDEV, Quoted(path));
    }
    const int flags = kReadFlags | (i + 1 < components.size() ? O_DIRECTORY : 0);
    FileDescriptor next(openat(at.valid() ? at.get() : folder.get(), component.c_str(), flags));
    if (!next.valid()) return FileError(errno, Quoted(path));
    at = std::move(next);
  }
  return at;
}

absl::StatusOr<std::string> ReadFileBeneath(const FileDescriptor& folder, const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const FileDescriptor file, OpenBeneath(folder, path));
  struct stat status;
  if (fstat(file.get(), &status) != 0) return FileError(errno, Quoted(path));
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " is not a regular file"));
  }
  if (status.st_size > max_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), " has ", status.st_size, " bytes; at most ", max_bytes, " are read"));
  }
  std::string bytes(status.st_size, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, Quoted(path));
    if (count == 0) {
      return absl::FailedPreconditionError(absl::StrCat(Quoted(path), " became shorter while it was read"));
    }
    done += static_cast<size_t>(count);
  }
  return bytes;
}

absl::Status ForEachEntry(const FileDescriptor& folder, const std::function<void(const std::string& name)>& visit) {
  // Opens a separate descriptor, because a duplicate would share the read position of `folder`.
  const int descriptor = openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return FileError(errno, "open folder");
  std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(descriptor), closedir);
  if (entries == nullptr) {
    const int error = errno;
    close(descriptor);
    return FileError(error, "read folder");
  }
  while (true) {
    errno = 0;
    const dirent* entry = readdir(entries.get());
    if (entry == nullptr) return errno == 0 ? absl::OkStatus() : FileError(errno, "read folder");
    const std::string name = entry->d_name;
    if (name != "." && name != "..") visit(name);
  }
}

EntryKind KindOf(const FileDescriptor& folder, const std::string& name) {
  struct stat status;
  if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? EntryKind::kNone : EntryKind::kUnreadable;
  }
  if (S_ISREG(status.st_mode)) return EntryKind::kFile;
  if (S_ISLNK(status.st_mode)) return EntryKind::kLink;
  return S_ISDIR(status.st_mode) ? EntryKind::kFolder : EntryKind::kOther;
}

bool LeadsToNoFolder(const FileDescriptor& folder, const std::string& link) {
  struct stat status;
  return fstatat(folder.get(), link.c_str(), &status, 0) == 0 && !S_ISDIR(status.st_mode);
}

}  // namespace vitrine
