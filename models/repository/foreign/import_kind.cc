// SPDX-License-Identifier: Apache-2.0
#include "models/repository/foreign/import_kind.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace vitrine {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kPointer =
    "is a Git LFS pointer, which stands for the weights in a clone without Git LFS; fetch the weights with `git lfs "
    "pull` in that clone";
constexpr std::string_view kWebPage =
    "is a web page, not the weights; the download address may be that of a page (on Hugging Face, /resolve/ in the "
    "address downloads a file and /blob/ shows its page), or the site may require a login";
constexpr std::string_view kConvert = "; load the weights in Python and save them with safetensors.torch.save_file";

struct Kind {
  size_t at;  // position of `bytes` in the file
  std::string_view bytes;
  std::string_view words;
  bool can_convert = false;  // true: the text ends with kConvert
};
constexpr Kind kKinds[] = {
    {0, "version https://git-lfs", kPointer},
    {0, "\x89HDF\r\n\x1a\n"sv, "is an HDF5 file, as Keras writes it (.h5)", true},
    {0, "GGUF"sv, "is a GGUF file of llama.cpp, whose tensors may be quantized; use the safetensors file of the model"},
    {4, "TFL3"sv, "is a TensorFlow Lite model", true},
    {0, "\x93NUMPY"sv, "is a NumPy array (.npy)", true},
    {0, "\x1f\x8b"sv, "is compressed with gzip; decompress it with gunzip"},
    {0, "\x28\xb5\x2f\xfd"sv, "is compressed with Zstandard; decompress it with unzstd"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "is compressed with xz; decompress it with unxz"},
    {257, "ustar"sv, "is a tar archive; unpack it with tar"},
};

// Formats without a signature, by the ending of the file's name.
constexpr Kind kEndings[] = {
    {0, ".onnx", "is an ONNX model", true},
    {0, ".pb", "is a TensorFlow graph", true},
    {0, ".msgpack", "is a msgpack file of Flax", true},
    {0, ".npz", "is a NumPy archive (.npz)", true},
    {0, ".keras", "is a Keras archive", true},
    {0, ".h5", "is named like an HDF5 file of Keras", true},
    {0, ".gguf", "is named like a GGUF file; use the safetensors file of the model"},
    {0, ".zip", "is a zip archive; unpack it, and give the safetensors file in it"},
    {0, ".tflite", "is named like a TensorFlow Lite model", true},
};

std::string InWords(const Kind& kind) {
  return std::string(kind.words) + std::string(kind.can_convert ? kConvert : "");
}

bool IsText(std::string_view bytes) {
  constexpr size_t kLooked = 512;
  bytes = bytes.substr(0, kLooked);
  return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return absl::ascii_isprint(static_cast<unsigned char>(c)) || absl::ascii_isspace(static_cast<unsigned char>(c));
  });
}

}  // namespace

std::string KindInWords(const std::filesystem::path& file, std::string_view bytes) {
  for (const Kind& kind : kKinds) {
    if (bytes.size() > kind.at && bytes.substr(kind.at).starts_with(kind.bytes)) return InWords(kind);
  }
  // ONNX's ModelProto begins with field 1 (ir_version, a small number) and field 2 (producer).
  if (bytes.size() > 2 && bytes[0] == '\x08' && bytes[2] == '\x12') return InWords(kEndings[0]);
  constexpr size_t kMostSpace = 64;
  const size_t first = bytes.substr(0, kMostSpace).find_first_not_of(" \t\r\n");
  constexpr size_t kMostStart = 16;
  const std::string text(first == std::string_view::npos ? "" : bytes.substr(first, kMostStart));
  for (const char* start : {"<!doctype", "<html", "<?xml", "<!--"}) {
    if (absl::StartsWithIgnoreCase(text, start)) return std::string(kWebPage);
  }
  const std::string name = absl::AsciiStrToLower(file.filename().string());
  for (const Kind& kind : kEndings) {
    if (name.ends_with(kind.bytes)) return InWords(kind);
  }
  if (bytes.empty()) return "is empty; download or copy it again";
  if (IsText(bytes)) return "is no safetensors file, but text; give the safetensors file of the weights";
  return "";
}

}  // namespace vitrine
