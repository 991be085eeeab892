// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/feature_files.h"

#include <bit>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file/descriptor.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Size of the header, with room for any shape of up to four dimensions. It is fixed, because the header is rewritten
// when the number of rows is known. The format requires a multiple of 64.
constexpr size_t kHeaderBytes = 192;
constexpr size_t kPreamble = 10;  // magic, version and length of the header

std::string Header(const std::vector<int64_t>& shape, NpyType type) {
  // Formats a Python tuple: "(3,)" and "(3, 4)".
  std::string tuple = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    absl::StrAppend(&tuple, i > 0 ? " " : "", shape[i], i + 1 < shape.size() || i == 0 ? "," : "");
  }
  tuple += ")";
  std::string header("\x93NUMPY\x01\x00", 8);
  const size_t length = kHeaderBytes - kPreamble;
  header += static_cast<char>(length & 255);
  header += static_cast<char>(length >> 8);
  absl::StrAppend(&header, "{'descr': '", type == NpyType::kFloat32 ? "<f4" : "<i4",
                  "', 'fortran_order': False, 'shape': ", tuple, ", }");
  header.resize(kHeaderBytes - 1, ' ');
  return header + '\n';
}

template <typename Value>
std::string LittleEndian(std::span<const Value> values) {
  std::string bytes;
  bytes.reserve(values.size_bytes());
  for (const Value value : values) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 255);
  }
  return bytes;
}

}  // namespace

NpyFile::NpyFile(const std::string& path, std::vector<int64_t> row_shape, NpyType type)
    : path_(path),
      row_shape_(std::move(row_shape)),
      type_(type),
      file_(StagedPath(path), std::ios::binary | std::ios::trunc) {}

NpyFile::~NpyFile() {
  if (finished_) return;
  file_.close();
  DropStaged(path_);
}

absl::StatusOr<std::unique_ptr<NpyFile>> NpyFile::Create(const std::string& path, std::vector<int64_t> row_shape,
                                                         NpyType type) {
  errno = 0;
  std::unique_ptr<NpyFile> file(new NpyFile(path, std::move(row_shape), type));
  file->file_ << std::string(kHeaderBytes, '\0');
  RETURN_IF_ERROR(file->Check());
  return file;
}

absl::Status NpyFile::Check() {
  // Uses errno of the first failure only, because a failed stream ignores further writes.
  if (failed_.ok() && !file_) failed_ = FileError(errno, absl::StrCat("cannot write ", StagedPath(path_).string()));
  return failed_;
}

absl::Status NpyFile::Append(std::span<const float> row) {
  file_ << LittleEndian(row);
  ++rows_;
  return Check();
}

absl::Status NpyFile::Append(std::span<const int32_t> row) {
  file_ << LittleEndian(row);
  ++rows_;
  return Check();
}

absl::Status NpyFile::Finish() {
  std::vector<int64_t> shape = {rows_};
  shape.insert(shape.end(), row_shape_.begin(), row_shape_.end());
  file_.seekp(0);
  file_ << Header(shape, type_);
  file_.close();
  RETURN_IF_ERROR(Check());
  RETURN_IF_ERROR(CommitFile(path_));
  finished_ = true;
  return absl::OkStatus();
}

std::string NpyBytes(const std::vector<int64_t>& shape, std::span<const float> values) {
  return Header(shape, NpyType::kFloat32) + LittleEndian(values);
}

}  // namespace vitrine
