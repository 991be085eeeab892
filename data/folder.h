// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_FOLDER_H_
#define VITRINE_DATA_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// The endings by which pictures in folders are known, for sentences.
inline constexpr char kPictureEndings[] = ".jpg, .jpeg, .jpe, .jfif, .png or .webp";

// True if a file's ending (".JPEG") is that of a picture, in upper or lower case.
bool IsPictureEnding(std::string_view ending);

// True if every program passes over a file or folder of this name that it finds in a folder: what begins with a dot
// (AppleDouble's "._cat.jpg" too), and what macOS, Windows and network disks leave behind.
bool IsHiddenName(std::string_view name);

// The visible entries of a folder, each list in byte order.
struct FolderContent {
  // Files with a picture's ending. Links that lead nowhere are among them, so that whoever reads them names them.
  std::vector<std::string> pictures = {};
  std::vector<std::string> folders = {};       // links to folders too
  std::vector<std::string> broken_links = {};  // links that lead nowhere and have no picture's ending
  std::map<std::string, int64_t> others = {};  // numbers of other files by their ending in lower case
};

// NOT_FOUND or PERMISSION_DENIED names the folder: it cannot be read.
absl::StatusOr<FolderContent> ReadFolder(const std::filesystem::path& folder);

// Numbers of pictures in all folders below `folder`, links not followed; what cannot be read counts as nothing.
int64_t CountPicturesBelow(const std::filesystem::path& folder);

// Collects what was passed over in folders.
class PassedOver {
 public:
  // Other files and broken links of a folder.
  void AddOthers(const FolderContent& content);
  // `pictures` that lie deeper than is read; none where it is 0.
  void AddDeeper(std::string_view folder, int64_t pictures);
  // A folder that is no class, for it has no picture.
  void AddEmptyFolder(std::string_view folder) { empty_folders_.emplace_back(folder); }
  // Pictures beside the folders of the classes.
  void AddBeside(int64_t pictures) { beside_ += pictures; }

  // "1 .bmp, 2 .gif; 1 picture in folders of cat/"; empty where nothing was passed over.
  std::string InWords() const;

 private:
  std::map<std::string, int64_t> others_;
  int64_t broken_links_ = 0, deeper_ = 0, beside_ = 0;
  std::vector<std::string> deep_folders_, empty_folders_;
};

}  // namespace vitrine

#endif  // VITRINE_DATA_FOLDER_H_
