// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "models/repository/files/safetensors_header.h"
#include "models/repository/files/text.h"
#include "models/repository/foreign/import.h"
#include "models/repository/foreign/import_kind.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPickleNames[] = {".bin", ".pth", ".pt", ".ckpt", ".pkl", ".pickle"};
// PyTorch's archive is a zip file; older files are just a pickle of protocol 2 to 5.
constexpr std::string_view kZip = "PK\x03\x04";
constexpr char kPickleProtocol = '\x80';
constexpr int kMostShards = 4096;

absl::Status Pickle(const fs::path& file, std::string_view how) {
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(file.filename().string()), " is a pickle (", std::string(how),
      "), and unpickling runs any code in the file. If you trust its source, save its tensors as safetensors, in a "
      "disposable environment:\n"
      "  import torch, safetensors.torch\n"
      "  def flat(x, at=\"\"):\n"
      "      for k, v in x.items():\n"
      "          if isinstance(v, dict): yield from flat(v, f\"{at}{k}.\")\n"
      "          elif isinstance(v, torch.Tensor) and \"optimizer\" not in at: yield f\"{at}{k}\", "
      "v.clone().contiguous()\n"
      "  file = torch.load(\"",
      file.filename().string(),
      "\", map_location=\"cpu\", weights_only=True)\n"
      "  safetensors.torch.save_file(dict(flat(file)), \"weights.safetensors\")"));
}

// Rejects a pickle, recognized by its name.
absl::Status CheckName(const fs::path& file) {
  const std::string extension = absl::AsciiStrToLower(file.extension().string());
  for (const std::string_view name : kPickleNames) {
    if (extension == name) return Pickle(file, absl::StrCat("by its name, ", std::string(name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(const fs::path& file, int64_t most_bytes = kMaxFileBytes) {
  const auto failed = [&](std::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(file.string()), ": ", std::string(fault)));
  };
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    if (error) return absl::NotFoundError(absl::StrCat(Quoted(file.string()), ": ", error.message()));
    return failed("not a file");
  }
  const uintmax_t bytes = fs::file_size(file, error);
  if (error) return failed(error.message());
  if (bytes > static_cast<uintmax_t>(most_bytes)) {
    return failed(absl::StrCat("has ", bytes, " bytes; at most ", most_bytes, " are read"));
  }
  std::ifstream stream(file, std::ios::binary);
  std::string content(bytes, '\0');
  stream.read(content.data(), static_cast<std::streamsize>(bytes));
  if (!stream) return failed("cannot be read");
  return content;
}

// Returns the error of a safetensors file with an element type that no supported model has; OK for any other file.
absl::Status WrongType(std::string_view bytes, const std::string& name) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes) return absl::OkStatus();
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  bytes.remove_prefix(sizeof header_bytes);
  if (header_bytes > std::min<uint64_t>(bytes.size(), kMaxSafetensorsHeader)) return absl::OkStatus();
  const absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(bytes.substr(0, header_bytes));
  if (!header.ok()) return absl::OkStatus();
  for (const TensorEntry& tensor : header->tensors) {
    const auto refused = [&](std::string_view way_out) {
      return absl::FailedPreconditionError(absl::StrCat(name, ": tensor ", Quoted(tensor.name), " is stored as ",
                                                        tensor.dtype, "; ", std::string(way_out)));
    };
    if (tensor.dtype == "F64" || tensor.dtype.starts_with("F8_")) {
      return refused("convert the model with .float() before you save its state_dict()");
    }
    for (const char* integer : {"I32", "I16", "I8", "U64", "U32", "U16", "BOOL"}) {
      if (tensor.dtype != integer) continue;
      return refused(
          "the model has no tensor of this type: leave it out of the file if it is a buffer, or save the weights as "
          "floating-point numbers if they are quantized");
    }
  }
  return absl::OkStatus();
}

// Returns the error for a file that is no safetensors file; `fault` is the parser's error. Call it only after the
// parser has failed: a safetensors file starts with a length, whose bytes may equal the signature of another format.
absl::Status WhatElse(const fs::path& file, std::string_view bytes, const absl::Status& fault) {
  const std::string kind = KindInWords(file, bytes), name = Quoted(file.filename().string());
  if (!kind.empty()) return absl::InvalidArgumentError(absl::StrCat(name, " ", kind));
  if (bytes.starts_with(kZip)) return Pickle(file, "PyTorch's zip archive, by its first bytes");
  if (bytes.size() > 1 && bytes[0] == kPickleProtocol && bytes[1] >= 2 && bytes[1] <= 5) {
    return Pickle(file, "by its first bytes");
  }
  RETURN_IF_ERROR(WrongType(bytes, name));
  return absl::Status(fault.code(), absl::StrCat(name, " is no safetensors file, or is damaged: ", fault.message()));
}

absl::StatusOr<Safetensors> ReadOne(const fs::path& file, int64_t most_bytes) {
  RETURN_IF_ERROR(CheckName(file));
  ASSIGN_OR_RETURN(const std::string bytes, ReadAll(file, most_bytes));
  absl::StatusOr<Safetensors> content = ParseSafetensors(bytes);
  if (content.ok()) return content;
  return WhatElse(file, bytes, content.status());
}

// Adds the tensors of a shard to `all`, which holds the tensors of the shards that were read before.
absl::Status Join(const fs::path& file, TensorMap tensors, TensorMap& all) {
  all.merge(tensors);
  if (tensors.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("tensor ", Quoted(tensors.begin()->first), " is in ",
                                                    Quoted(file.filename().string()), " and another shard"));
}

// A shard's name: "model-00001-of-00002.safetensors".
struct ShardName {
  std::string base;  // "model"
  int number, count;
};

std::optional<ShardName> ParseShard(const fs::path& file) {
  const std::string name = file.filename().native();
  const absl::string_view stem = absl::StripSuffix(name, ".safetensors");
  constexpr size_t kNone = absl::string_view::npos;
  const size_t of = stem.rfind("-of-"), dash = of == kNone ? of : stem.rfind('-', of - 1);
  if (file.extension() != ".safetensors" || of == kNone || of == 0 || dash == kNone) return std::nullopt;
  const absl::string_view number = stem.substr(dash + 1, of - dash - 1), count = stem.substr(of + 4);
  ShardName shard{std::string(stem.substr(0, dash)), 0, 0};
  if (number.size() != count.size() || !absl::SimpleAtoi(number, &shard.number) ||
      !absl::SimpleAtoi(count, &shard.count) || shard.number < 1 || shard.number > shard.count ||
      shard.count > kMostShards) {
    return std::nullopt;
  }
  return shard;
}

// Returns the paths of the files `names` in the folder of `named`. NOT_FOUND names the first missing file.
absl::StatusOr<std::vector<fs::path>> Beside(const fs::path& named, const std::string& what,
                                             const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (const std::string& name : names) {
    files.push_back(named.parent_path() / name);
    std::error_code error;
    if (fs::exists(files.back(), error)) continue;
    return absl::NotFoundError(absl::StrCat(Quoted(named.filename().native()), " is ", what, ", and ", Quoted(name),
                                            " is missing beside it; put all ", names.size(), " shards in one folder"));
  }
  return files;
}

// Returns the weights file or index in a folder. Searches for the file names that transformers, timm and OpenCLIP use.
absl::StatusOr<fs::path> InFolder(const fs::path& folder) {
  constexpr char kPickle[] = "open_clip_pytorch_model.bin";  // a pickle; its error says how to convert it
  for (const char* name : {kForeignWeightsFile, kForeignIndexFile, kOpenClipWeightsFile, kPickle}) {
    std::error_code error;
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return absl::NotFoundError(absl::StrCat(Quoted(folder.native()), " is a folder without ", kForeignWeightsFile, ", ",
                                          kForeignIndexFile, " or ", kOpenClipWeightsFile,
                                          "; give the file of the weights"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ShardsOfIndex(std::string_view json) {
  const auto index = nlohmann::json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  const auto refused = [](const std::string& fault) {
    return absl::InvalidArgumentError(absl::StrCat("no index of shards: ", fault));
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return refused("it has no weight_map of tensors and files");
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string() || !IsPlainName(file.get<std::string>())) {
      return refused(absl::StrCat("tensor ", Quoted(tensor), " has no plain file name [A-Za-z0-9_.-]{1,64}"));
    }
    names.insert(file.get<std::string>());
  }
  if (names.empty() || names.size() > static_cast<size_t>(kMostShards)) {
    return refused(absl::StrCat("it names ", names.size(), " files; 1 to ", kMostShards, " are read"));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

absl::StatusOr<std::vector<fs::path>> ForeignFiles(const fs::path& named) {
  std::error_code error;
  fs::path file = named;
  if (fs::is_directory(named, error)) {
    ASSIGN_OR_RETURN(file, InFolder(named));
  }
  if (file.extension() == ".json") {  // also "model.safetensors.index.fp16.json"
    constexpr int64_t kMostBytes = 16 << 20;
    ASSIGN_OR_RETURN(const std::string json, ReadAll(file, kMostBytes));
    const absl::StatusOr<std::vector<std::string>> shards = ShardsOfIndex(json);
    if (!shards.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(file.native()), " is ", shards.status().message()));
    }
    return Beside(file, absl::StrCat("an index of ", shards->size(), " shards"), *shards);
  }
  const std::optional<ShardName> shard = ParseShard(file);
  if (!shard.has_value()) return std::vector<fs::path>{file};
  const std::string given = file.filename().native();
  const int digits = static_cast<int>(given.size() - given.rfind("-of-") - std::string("-of-.safetensors").size());
  std::vector<std::string> names;
  for (int i = 1; i <= shard->count; ++i) {
    names.push_back(absl::StrFormat("%s-%0*d-of-%0*d.safetensors", shard->base, digits, i, digits, shard->count));
  }
  return Beside(file, absl::StrCat("shard ", shard->number, " of ", shard->count), names);
}

absl::StatusOr<TensorMap> ReadForeignWeights(const std::vector<fs::path>& files,
                                             std::map<std::string, std::string>* metadata) {
  TensorMap all;
  int64_t left = kMaxFileBytes;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(Safetensors content, ReadOne(file, left));
    if (metadata != nullptr) metadata->merge(content.metadata);
    for (const auto& [name, tensor] : content.tensors) left -= tensor.bytes();
    RETURN_IF_ERROR(Join(file, std::move(content.tensors), all));
  }
  return all;
}

absl::Status AddForeignHeader(const fs::path& file, std::string_view start, uint64_t file_bytes, TensorMap& all) {
  RETURN_IF_ERROR(CheckName(file));
  absl::StatusOr<Safetensors> content =
      ReadSafetensorsHeader(file_bytes, [rest = start](char* into, size_t count) mutable -> absl::Status {
        if (count > rest.size()) return absl::InvalidArgumentError("the header is incomplete");
        std::memcpy(into, rest.data(), count);
        rest.remove_prefix(count);
        return absl::OkStatus();
      });
  if (!content.ok()) return WhatElse(file, start, content.status());
  return Join(file, std::move(content->tensors), all);
}

absl::StatusOr<TensorMap> ReadForeignWeights(const fs::path& named, std::map<std::string, std::string>* metadata) {
  RETURN_IF_ERROR(CheckName(named));
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, ForeignFiles(named));
  return ReadForeignWeights(files, metadata);
}

}  // namespace vitrine
