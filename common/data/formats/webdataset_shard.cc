// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/webdataset_shard.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/data/folder.h"
#include "common/data/formats/tar_index.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kMostImageBytes = int64_t{256} << 20;
constexpr int64_t kMostLabelBytes = 1 << 20;

// Members that have the same key.
struct Parts {
  const TarMember* image = nullptr;
  const TarMember* number = nullptr;  // KEY.cls
  const TarMember* json = nullptr;    // KEY.json
  std::set<std::string> endings;
};

// Splits "a.b/0001.seg.png" into the key "a.b/0001" and the extension "seg.png", like WebDataset. Returns an empty key
// for a hidden file.
std::pair<std::string, std::string> SplitKey(const std::string& name) {
  const size_t file = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  const size_t dot = name.find('.', file);
  if (dot == std::string::npos || dot == file) return {};
  return {name.substr(0, dot), absl::AsciiStrToLower(name.substr(dot + 1))};
}

absl::StatusOr<std::string> ReadSmall(const ReadOnlyFile& shard, const TarMember& member) {
  if (member.bytes > kMostLabelBytes) return Fault(shard, absl::StrCat(member.name, " has ", member.bytes, " bytes"));
  return shard.ReadAt(member.offset, member.bytes);
}

absl::StatusOr<int64_t> ReadNumber(const ReadOnlyFile& shard, const TarMember& member) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadSmall(shard, member));
  int64_t number = 0;
  if (const auto text = PlainText(bytes); text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) {
    return number;
  }
  return Fault(shard, member.name + " holds no whole number");
}

absl::StatusOr<int64_t> ReadJson(const ReadOnlyFile& shard, const TarMember& member) {
  ASSIGN_OR_RETURN(const std::string text, ReadSmall(shard, member));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fault(shard, member.name + " is no JSON");
  const auto label = json.is_object() ? json.find("label") : json.end();
  if (label == json.end() || !label->is_number_integer()) {
    return Fault(shard, member.name + " has no whole number under \"label\", and there is no .cls beside it");
  }
  // Numbers above the range of int64 become negative; the caller rejects negative labels as out of range.
  return label->get<int64_t>();
}

absl::StatusOr<int> ReadLabel(const ReadOnlyFile& shard, const std::string& key, const Parts& parts, int classes) {
  if (parts.number == nullptr && parts.json == nullptr) {
    return Fault(shard, absl::StrCat(key, " has an image but neither ", key, ".cls nor ", key, ".json"));
  }
  ASSIGN_OR_RETURN(const int64_t label,
                   parts.number != nullptr ? ReadNumber(shard, *parts.number) : ReadJson(shard, *parts.json));
  if (label >= 0 && label < classes) return static_cast<int>(label);
  return Fault(shard, absl::StrCat(key, " has the label ", label, "; labels are 0 to ", classes - 1));
}

// Adds a member to the parts of its key.
absl::Status AddMember(const ReadOnlyFile& shard, const TarMember& member, std::map<std::string, Parts>& keys) {
  const auto [key, ending] = SplitKey(member.name);
  if (key.empty()) return absl::OkStatus();
  Parts& parts = keys[key];
  if (!parts.endings.insert(ending).second) return Fault(shard, member.name + " occurs twice");
  if (ending == "cls") parts.number = &member;
  if (ending == "json") parts.json = &member;
  if (!IsImageEnding("." + ending)) return absl::OkStatus();
  if (parts.image != nullptr) return Fault(shard, key + " has two images");
  if (member.bytes > kMostImageBytes) {
    return Fault(shard,
                 absl::StrCat(member.name, " has ", member.bytes, " bytes; an image has at most ", kMostImageBytes));
  }
  parts.image = &member;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ShardSample>> ReadShard(const ReadOnlyFile& shard, int classes) {
  ASSIGN_OR_RETURN(const std::vector<TarMember> members, IndexTar(shard));
  std::map<std::string, Parts> keys;
  for (const TarMember& member : members) RETURN_IF_ERROR(AddMember(shard, member, keys));
  std::vector<ShardSample> samples;
  for (const TarMember& member : members) {
    const auto found = keys.find(SplitKey(member.name).first);
    if (found == keys.end()) continue;
    const auto& [key, parts] = *found;
    if (&member == parts.number && parts.image == nullptr) {
      return Fault(shard, absl::StrCat(key, " has a label but no image (", kImageEndings, ")"));
    }
    if (&member != parts.image) continue;
    ASSIGN_OR_RETURN(const int label, ReadLabel(shard, key, parts, classes));
    samples.push_back({.key = key, .offset = member.offset, .bytes = member.bytes, .label = label});
  }
  return samples;
}

}  // namespace vitrine
