// SPDX-License-Identifier: Apache-2.0
#include "models/repository/listed_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/manifest.h"

namespace vitrine {
namespace {

// Number of bytes that are read and then hashed together. It is so small that the bytes are still in the CPU cache.
constexpr size_t kPieceBytes = 256 << 10;

}  // namespace

absl::StatusOr<ListedFile> ListedFile::Open(const FileDescriptor& folder, const v1::FileDigest& listed) {
  absl::StatusOr<FileDescriptor> file = OpenBeneath(folder, listed.name());
  if (absl::IsNotFound(file.status())) return absl::FailedPreconditionError(absl::StrCat(listed.name(), " is missing"));
  RETURN_IF_ERROR(file.status());
  struct stat facts;
  if (fstat(file->get(), &facts) != 0) return FileError(errno, Quoted(listed.name()));
  if (!S_ISREG(facts.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Quoted(listed.name()), " is not a regular file"));
  }
  if (facts.st_size != listed.bytes()) {
    return absl::FailedPreconditionError(absl::StrCat(
        listed.name(), " has ", facts.st_size, " bytes, ", kManifestFile, " says ", listed.bytes(),
        facts.st_size < listed.bytes() ? "; it was copied incompletely" : "; it is not the file that was published"));
  }
  return ListedFile(*std::move(file), listed);
}

absl::Status ListedFile::Read(char* into, size_t count) {
  while (count > 0) {
    const ssize_t got = pread(file_.get(), into, std::min(count, kPieceBytes), static_cast<off_t>(done_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, Quoted(listed_.name()));
    if (got == 0) {
      return absl::FailedPreconditionError(absl::StrCat(Quoted(listed_.name()), " became shorter while it was read"));
    }
    digest_.Update({into, static_cast<size_t>(got)});
    into += got;
    count -= static_cast<size_t>(got);
    done_ += got;
  }
  return absl::OkStatus();
}

absl::Status ListedFile::Prove() {
  std::string piece;
  while (done_ < listed_.bytes()) {
    piece.resize(static_cast<size_t>(std::min<int64_t>(listed_.bytes() - done_, kPieceBytes)));
    RETURN_IF_ERROR(Read(piece.data(), piece.size()));
  }
  if (const std::string digest = digest_.Hex(); digest != listed_.sha256()) {
    return absl::FailedPreconditionError(
        absl::StrCat(listed_.name(), " has SHA-256 ", digest, ", ", kManifestFile, " says ", listed_.sha256()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadListedFile(const FileDescriptor& folder, const v1::FileDigest& listed) {
  ASSIGN_OR_RETURN(ListedFile file, ListedFile::Open(folder, listed));
  std::string bytes(static_cast<size_t>(listed.bytes()), '\0');
  RETURN_IF_ERROR(file.Read(bytes.data(), bytes.size()));
  RETURN_IF_ERROR(file.Prove());
  return bytes;
}

}  // namespace vitrine
