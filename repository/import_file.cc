// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "repository/import.h"
#include "repository/manifest.h"
#include "repository/text.h"

namespace vitrine {
namespace {

constexpr std::string_view kPickleNames[] = {".bin", ".pth", ".pt", ".ckpt", ".pkl", ".pickle"};
// PyTorch's archive is a zip file; before it, and elsewhere, a bare pickle of protocol 2 to 5.
constexpr std::string_view kZip = "PK\x03\x04";
constexpr char kPickleProtocol = '\x80';

absl::Status Pickle(const std::filesystem::path& file, std::string_view how) {
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(file.filename().string()), " is a pickle (", std::string(how),
                   "), and unpickling runs whatever code the file brings along. Save its tensors as safetensors, in a "
                   "place that you "
                   "can throw away, if you trust where it comes from:\n"
                   "  import torch, safetensors.torch\n"
                   "  safetensors.torch.save_file({k: v.contiguous() for k, v in torch.load(\"",
                   file.filename().string(), "\", weights_only=True).items()}, \"weights.safetensors\")"));
}

absl::StatusOr<std::string> ReadAll(const std::filesystem::path& file) {
  const auto failed = [&](std::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(file.string()), ": ", std::string(fault)));
  };
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    if (error) return absl::NotFoundError(absl::StrCat(Quoted(file.string()), ": ", error.message()));
    return failed("not a file");
  }
  const uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error) return failed(error.message());
  if (bytes > static_cast<uintmax_t>(kMaxFileBytes)) {
    return failed(absl::StrCat("has ", bytes, " bytes; at most ", kMaxFileBytes, " are read"));
  }
  std::ifstream stream(file, std::ios::binary);
  std::string content(bytes, '\0');
  stream.read(content.data(), static_cast<std::streamsize>(bytes));
  if (!stream) return failed("cannot be read");
  return content;
}

}  // namespace

absl::StatusOr<TensorMap> ReadForeignWeights(const std::filesystem::path& file) {
  const std::string extension = absl::AsciiStrToLower(file.extension().string());
  for (const std::string_view name : kPickleNames) {
    if (extension == name) return Pickle(file, absl::StrCat("by its name, ", std::string(name)));
  }
  const absl::StatusOr<std::string> read = ReadAll(file);
  if (!read.ok()) return read.status();
  const std::string& bytes = *read;
  if (bytes.starts_with(kZip)) return Pickle(file, "PyTorch's zip archive, by its first bytes");
  if (bytes.size() > 1 && bytes[0] == kPickleProtocol && bytes[1] >= 2 && bytes[1] <= 5) {
    return Pickle(file, "by its first bytes");
  }
  absl::StatusOr<Safetensors> content = ParseSafetensors(bytes);
  if (!content.ok()) {
    return absl::Status(content.status().code(), absl::StrCat(Quoted(file.filename().string()),
                                                              " is no safetensors file: ", content.status().message()));
  }
  return std::move(content->tensors);
}

}  // namespace vitrine
