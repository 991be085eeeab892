// SPDX-License-Identifier: Apache-2.0
#include "data/tar_index.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

// What is read at once around a header. Content is leapt over, so more would mostly be read in vain.
constexpr size_t kBlockBytes = 4096;
// tar fills its last record with zeros, 10 KiB by default. More than this is no filling.
constexpr int64_t kMostFilling = 1 << 20;

using Archive = std::unique_ptr<archive, decltype(&archive_read_free)>;

absl::Status Fault(const ReadOnlyFile& file, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": ", fault));
}

std::string Reason(archive* reader) {
  const char* reason = archive_error_string(reader);
  return reason == nullptr ? "unknown damage" : reason;
}

// The entry's regular file; an empty name for any other kind of entry.
absl::StatusOr<TarMember> ReadMember(const ReadOnlyFile& file, archive* reader, archive_entry* entry) {
  TarMember member;
  if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) return member;
  member.offset = archive_filter_bytes(reader, 0);
  member.bytes = archive_entry_size(entry);
  const char* name = archive_entry_pathname(entry);
  member.name = name == nullptr ? "" : name;
  while (member.name.starts_with("./")) member.name.erase(0, 2);
  if (member.name.empty() || std::any_of(member.name.begin(), member.name.end(), absl::ascii_iscntrl)) {
    return Fault(file, absl::StrCat("the member whose content begins at byte ", member.offset,
                                    " has an empty name or one with control characters"));
  }
  if (archive_entry_sparse_count(entry) > 0) return Fault(file, member.name + " is stored as a sparse file");
  if (member.bytes < 0 || member.offset > file.size() || member.bytes > file.size() - member.offset) {
    return Fault(file, absl::StrCat(member.name, " declares ", member.bytes, " bytes from byte ", member.offset,
                                    " on, but the file ends at byte ", file.size()));
  }
  return member;
}

// What follows the end mark must be zeros: a concatenated archive would otherwise be lost without a word.
absl::Status CheckEnd(const ReadOnlyFile& file, int64_t end) {
  const int64_t rest = file.size() - end;
  if (rest <= 0) return absl::OkStatus();
  if (rest <= kMostFilling) {
    ASSIGN_OR_RETURN(const std::string filling, file.ReadAt(end, rest));
    if (filling.find_first_not_of('\0') == std::string::npos) return absl::OkStatus();
  }
  return Fault(file, absl::StrCat("goes on after the end mark at byte ", end, "; concatenated archives are not read"));
}

}  // namespace

absl::StatusOr<std::vector<TarMember>> IndexTar(const ReadOnlyFile& file) {
  const Archive reader(archive_read_new(), archive_read_free);
  if (reader == nullptr) return absl::ResourceExhaustedError("no memory for a tar reader");
  if (archive_read_support_format_tar(reader.get()) != ARCHIVE_OK ||
      archive_read_open_fd(reader.get(), file.descriptor(), kBlockBytes) != ARCHIVE_OK) {
    return Fault(file, absl::StrCat("not an uncompressed tar file (", Reason(reader.get()), ")"));
  }
  std::vector<TarMember> members;
  for (archive_entry* entry = nullptr;;) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    // A name that has no form in this locale draws a warning, and its bytes are kept. Other warnings tell of damage.
    const bool foreign_name = result == ARCHIVE_WARN && archive_errno(reader.get()) == EILSEQ;
    if (result != ARCHIVE_OK && !foreign_name) {
      return Fault(file, absl::StrCat("damaged before byte ", archive_filter_bytes(reader.get(), 0), " (",
                                      Reason(reader.get()), ")"));
    }
    ASSIGN_OR_RETURN(TarMember member, ReadMember(file, reader.get(), entry));
    if (!member.name.empty()) members.push_back(std::move(member));
  }
  RETURN_IF_ERROR(CheckEnd(file, archive_filter_bytes(reader.get(), 0)));
  return members;
}

}  // namespace vitrine
