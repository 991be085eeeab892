// SPDX-License-Identifier: Apache-2.0
#include "common/data/folder.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNamed = 5;  // maximum number of names that FirstNames lists

std::string Counted(int64_t count, const char* thing) {
  return absl::StrCat(count, " ", thing, count == 1 ? "" : "s");
}

void AddEntry(const fs::directory_entry& entry, FolderContent& content) {
  std::string name = entry.path().filename().string();
  if (IsHiddenName(name)) return;
  const std::string ending = entry.path().extension().string();
  std::error_code ignored;
  switch (entry.status(ignored).type()) {
    case fs::file_type::directory:
      content.folders.push_back(std::move(name));
      return;
    case fs::file_type::regular:
      if (IsImageEnding(ending)) {
        content.images.push_back(std::move(name));
      } else {
        ++content.others[absl::AsciiStrToLower(ending)];
      }
      return;
    case fs::file_type::none:  // for example, a symbolic link that leads to itself
    case fs::file_type::not_found:
    case fs::file_type::unknown:
      (IsImageEnding(ending) ? content.images : content.broken_links).push_back(std::move(name));
      return;
    default:
      return;  // devices, pipes and sockets
  }
}

}  // namespace

bool IsImageEnding(std::string_view ending) {
  constexpr std::array<std::string_view, 6> kEndings = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp"};
  const std::string lower = absl::AsciiStrToLower(std::string(ending));
  return std::find(kEndings.begin(), kEndings.end(), lower) != kEndings.end();
}

bool IsHiddenName(std::string_view name) {
  constexpr std::array<std::string_view, 8> kLeftBehind = {
      "__macosx", "thumbs.db",    "ehthumbs.db", "desktop.ini",
      "@eadir",   "$recycle.bin", "lost+found",  "system volume information"};
  const std::string lower = absl::AsciiStrToLower(std::string(name));
  return lower.starts_with('.') || std::find(kLeftBehind.begin(), kLeftBehind.end(), lower) != kLeftBehind.end();
}

absl::StatusOr<FolderContent> ReadFolder(const fs::path& folder) {
  std::error_code error;
  FolderContent content;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    AddEntry(*entry, content);
  }
  if (error) {
    const bool denied = error == std::errc::permission_denied;
    return absl::Status(denied ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kNotFound,
                        absl::StrCat(folder.string(), " cannot be read: ", absl::AsciiStrToLower(error.message())));
  }
  for (auto* list : {&content.images, &content.folders, &content.broken_links}) std::sort(list->begin(), list->end());
  return content;
}

int64_t CountImagesBelow(const fs::path& folder) {
  const absl::StatusOr<FolderContent> content = ReadFolder(folder);
  if (!content.ok()) return 0;
  int64_t images = 0;
  for (const std::string& name : content->folders) {
    std::error_code ignored;
    const fs::path inside = folder / name;
    if (fs::is_symlink(inside, ignored)) continue;  // a link may lead to a parent folder
    const absl::StatusOr<FolderContent> deeper = ReadFolder(inside);
    if (deeper.ok()) images += static_cast<int64_t>(deeper->images.size()) + CountImagesBelow(inside);
  }
  return images;
}

std::string FirstNames(const std::vector<std::string>& names, const char* behind) {
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed));
  return absl::StrCat(absl::StrJoin(names.begin(), end, absl::StrCat(behind, ", ")), behind,
                      names.size() > kNamed ? ", ..." : "");
}

void PassedOver::AddOthers(const FolderContent& content) {
  for (const auto& [ending, count] : content.others) others_[ending] += count;
  broken_links_ += static_cast<int64_t>(content.broken_links.size());
}

void PassedOver::AddDeeper(std::string_view folder, int64_t images) {
  if (images == 0) return;
  deeper_ += images;
  deep_folders_.emplace_back(folder);
}

std::string PassedOver::InWords() const {
  std::vector<std::string> parts, files;
  for (const auto& [ending, count] : others_) {
    files.push_back(ending.empty() ? absl::StrCat(Counted(count, "file"), " without an ending")
                                   : absl::StrCat(count, " ", ending));
  }
  if (!files.empty()) parts.push_back(absl::StrJoin(files, ", "));
  if (deeper_ > 0) {
    parts.push_back(absl::StrCat(Counted(deeper_, "image"), " in folders of ", FirstNames(deep_folders_, "/")));
  }
  if (beside_ > 0) parts.push_back(absl::StrCat(Counted(beside_, "image"), " outside the class folders"));
  if (links_ > 0) parts.push_back(Counted(links_, "link"));
  if (folder_links_ > 0) {
    parts.push_back(absl::StrCat(Counted(folder_links_, "link"), folder_links_ == 1 ? " to a folder" : " to folders",
                                 ", not followed"));
  }
  if (broken_links_ > 0) {
    parts.push_back(
        absl::StrCat(Counted(broken_links_, "link"), broken_links_ == 1 ? " that is" : " that are", " broken"));
  }
  if (!empty_folders_.empty()) {
    parts.push_back(absl::StrCat(Counted(static_cast<int64_t>(empty_folders_.size()), "folder"),
                                 " without images, not classes: ", FirstNames(empty_folders_, "")));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace vitrine
