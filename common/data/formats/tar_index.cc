// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/tar_index.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kBlock = 512;
// Maximum size of the long name or the pax records in an extension header. A header with a larger size is invalid.
constexpr int64_t kMostExtension = 1 << 20;
// Maximum number of zero bytes after the end mark. tar pads its last record with zeros, by default to 10 KiB.
constexpr int64_t kMostFilling = 1 << 20;

absl::Status Damage(const ReadOnlyFile& file, int64_t offset, const std::string& reason) {
  return Fault(file, absl::StrCat("damaged before byte ", offset, " (", reason, ")"));
}

// Returns a field as text, up to its first NUL if it has one.
absl::string_view Text(absl::string_view block, size_t offset, size_t bytes) {
  const absl::string_view field = block.substr(offset, bytes);
  return field.substr(0, field.find('\0'));
}

// Parses a number: octal digits between blanks, or base 256 if the first bit is set. Returns nullopt for any other
// text, a negative number, and a number that int64_t cannot hold.
std::optional<int64_t> Number(absl::string_view field) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t number = 0;
  if (static_cast<unsigned char>(field.front()) == 0x80) {
    for (const unsigned char digit : field.substr(1)) {
      if (number > (kMost - digit) / 256) return std::nullopt;
      number = number * 256 + digit;
    }
    return number;
  }
  for (const char digit : absl::StripAsciiWhitespace(field.substr(0, field.find('\0')))) {
    if (digit < '0' || digit > '7' || number > kMost / 8) return std::nullopt;
    number = number * 8 + (digit - '0');
  }
  return number;
}

// Verifies the header's checksum: the sum of its bytes, with blanks in the checksum field. Accepts also a sum of signed
// bytes, which some old tar programs wrote.
bool ChecksumHolds(absl::string_view block) {
  int64_t as_unsigned = 0, as_signed = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    const char byte = i >= 148 && i < 156 ? ' ' : block[i];
    as_unsigned += static_cast<unsigned char>(byte);
    as_signed += static_cast<signed char>(byte);
  }
  const std::optional<int64_t> said = Number(block.substr(148, 8));
  return said == as_unsigned || said == as_signed;
}

// Contents of extension headers (types x and L), which apply to the next member.
struct Extension {
  std::optional<std::string> name;
  std::optional<int64_t> bytes;
  bool begun = false;
  bool pax = false;
  bool sparse = false;
};

// Parses records "LENGTH KEY=VALUE\n". LENGTH is the size of the whole record. Returns false if a record is invalid.
bool ReadPax(absl::string_view records, Extension& extension) {
  extension.pax = true;
  while (!records.empty()) {
    const size_t blank = records.find(' ');
    int64_t length = 0;
    if (blank == absl::string_view::npos || !absl::SimpleAtoi(records.substr(0, blank), &length)) return false;
    if (length <= static_cast<int64_t>(blank) + 1 || length > static_cast<int64_t>(records.size())) return false;
    if (records[length - 1] != '\n') return false;
    const absl::string_view record = records.substr(blank + 1, length - blank - 2);
    const size_t equals = record.find('=');
    if (equals == absl::string_view::npos) return false;
    const absl::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    int64_t bytes = 0;
    if (key == "size" && (!absl::SimpleAtoi(value, &bytes) || bytes < 0)) return false;
    if (key == "size") extension.bytes = bytes;
    if (key == "path") extension.name = std::string(value);
    if (key.substr(0, 10) == "GNU.sparse") extension.sparse = true;
    if (key == "GNU.sparse.name") extension.name = std::string(value);
    records.remove_prefix(length);
  }
  return true;
}

// Reads the headers of one tar file, from its start.
class TarReader {
 public:
  explicit TarReader(const ReadOnlyFile& file) : file_(file) {}

  // Returns the next regular file; nullopt after the last file.
  absl::StatusOr<std::optional<TarMember>> Next() {
    Extension extension;
    for (;;) {
      // Accepts a tar file without an end mark, because some programs omit it.
      if (at_ == file_.size() && at_ > 0 && !extension.begun) return std::nullopt;
      ASSIGN_OR_RETURN(const std::string block, ReadHeader());
      if (IsZero(block)) return End();
      const char type = block[156];
      std::optional<int64_t> bytes = Number(absl::string_view(block).substr(124, 12));
      if (extension.bytes.has_value()) bytes = extension.bytes;
      if (!bytes.has_value()) return Damage(file_, at_, "the size of a member is no number");
      if (type == 'x' || type == 'X' || type == 'L') {
        RETURN_IF_ERROR(ReadExtension(type, *bytes, extension));
      } else if (type == 'g' || type == 'K' || type == 'V') {
        RETURN_IF_ERROR(ReadContent(*bytes).status());
      } else {
        ASSIGN_OR_RETURN(std::optional<TarMember> member, ReadMember(block, *bytes, extension));
        if (member.has_value()) return member;
        extension = {};
      }
    }
  }
  int64_t links() const { return links_; }  // number of links read

 private:
  static bool IsZero(absl::string_view bytes) { return bytes.find_first_not_of('\0') == absl::string_view::npos; }

  absl::StatusOr<std::string> ReadHeader() {
    const bool whole = file_.size() - at_ >= kBlock;
    std::string block;
    if (whole) {
      ASSIGN_OR_RETURN(block, file_.ReadAt(at_, kBlock));
    }
    if (!whole || (!IsZero(block) && !ChecksumHolds(block))) {
      if (at_ == 0) return Fault(file_, "not an uncompressed tar file (it does not begin with a header)");
      return Damage(file_, at_, whole ? "the checksum of a header is wrong" : "a header is cut off");
    }
    at_ += kBlock;
    return block;
  }

  // Reads the content of an extension header and moves to the next header.
  absl::StatusOr<std::string> ReadContent(int64_t bytes) {
    if (bytes > kMostExtension || bytes > file_.size() - at_) {
      return Damage(file_, at_, absl::StrCat("a header declares ", bytes, " bytes"));
    }
    ASSIGN_OR_RETURN(std::string content, file_.ReadAt(at_, bytes));
    Skip(bytes);
    return content;
  }

  absl::Status ReadExtension(char type, int64_t bytes, Extension& extension) {
    ASSIGN_OR_RETURN(const std::string content, ReadContent(bytes));
    extension.begun = true;
    if (type == 'L') {
      extension.name = std::string(Text(content, 0, content.size()));
    } else if (!ReadPax(content, extension)) {
      return Damage(file_, at_, "a pax record is invalid or has a wrong length");
    }
    return absl::OkStatus();
  }

  // Returns nullopt for a link, a folder or a device.
  absl::StatusOr<std::optional<TarMember>> ReadMember(absl::string_view block, int64_t bytes,
                                                      const Extension& extension) {
    const char type = block[156];
    TarMember member{.name = extension.name.value_or(NameOf(block)), .offset = at_, .bytes = bytes};
    const bool is_folder = type == '5' || member.name.ends_with('/');  // the oldest tars mark a folder only by the "/"
    if (!is_folder && (type == '1' || type == '2')) ++links_;
    if (is_folder || (type >= '2' && type <= '6')) return std::nullopt;
    while (member.name.starts_with("./")) member.name.erase(0, 2);
    if (type == '1') {
      // Only in the pax format may a hard link have content. In other formats it has none, even if its header states a
      // size.
      if (!extension.pax) return std::nullopt;
    } else if (member.name.empty() || std::any_of(member.name.begin(), member.name.end(), absl::ascii_iscntrl)) {
      return Fault(
          file_,
          absl::StrCat("the member whose content begins at byte ", member.offset,
                       " has an empty name or one with control characters; pack the files again under other names"));
    } else if (type == 'S' || extension.sparse) {
      return Fault(file_, member.name + " is stored as a sparse file");
    }
    if (bytes > file_.size() - at_) {
      return Fault(file_, absl::StrCat(member.name, " declares ", bytes, " bytes from byte ", at_,
                                       " on, but the file ends at byte ", file_.size()));
    }
    Skip(bytes);
    if (type == '1' || type == 'D') return std::nullopt;
    return member;
  }

  // Uses the prefix field only for ustar: GNU's tar stores other data there.
  static std::string NameOf(absl::string_view block) {
    const absl::string_view name = Text(block, 0, 100), prefix = Text(block, 345, 155);
    const bool is_ustar = block.substr(257, 6) == absl::string_view("ustar\0", 6);
    return is_ustar && !prefix.empty() ? absl::StrCat(prefix, "/", name) : std::string(name);
  }

  // Moves past content, which is padded to whole blocks.
  void Skip(int64_t bytes) { at_ += (bytes + kBlock - 1) / kBlock * kBlock; }

  // Checks that only zeros follow the end mark. Otherwise a concatenated archive would be ignored silently.
  absl::StatusOr<std::optional<TarMember>> End() const {
    const int64_t rest = file_.size() - at_;
    if (rest <= kMostFilling) {
      ASSIGN_OR_RETURN(const std::string filling, file_.ReadAt(at_, rest));
      if (IsZero(filling)) return std::nullopt;
    }
    return Fault(
        file_, absl::StrCat("continues after the end mark at byte ", at_, "; concatenated archives are not supported"));
  }

  const ReadOnlyFile& file_;
  int64_t links_ = 0;
  int64_t at_ = 0;  // offset of the next header, or of the content after the header just read
};

}  // namespace

absl::StatusOr<std::vector<TarMember>> IndexTar(const ReadOnlyFile& file, int64_t* links) {
  TarReader reader(file);
  std::vector<TarMember> members;
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<TarMember> member, reader.Next());
    if (!member.has_value()) {
      if (links != nullptr) *links += reader.links();
      return members;
    }
    members.push_back(*std::move(member));
  }
}

absl::StatusOr<std::string> ReadTarMember(const std::filesystem::path& tar, int64_t tar_bytes, int64_t offset,
                                          int64_t bytes) {
  ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(tar));
  if (file.size() != tar_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(tar.string(), " has ", file.size(), " bytes; it had ", tar_bytes, " when it was opened"));
  }
  return file.ReadAt(offset, bytes);
}

}  // namespace vitrine
