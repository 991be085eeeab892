// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FOLDER_H_
#define VITRINE_COMMON_DATA_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Extensions of images in folders, for messages.
inline constexpr char kImageEndings[] = ".jpg, .jpeg, .jpe, .jfif, .png or .webp";

// Returns true if `ending` (".JPEG") is the extension of an image, in upper or lower case.
bool IsImageEnding(std::string_view ending);

// Returns true for names that all Vitrine programs ignore in a folder: names that start with a dot (such as
// AppleDouble's "._cat.jpg"), and leftovers of macOS, Windows and network disks.
bool IsHiddenName(std::string_view name);

// Visible entries of a folder, each list sorted by bytes.
struct FolderContent {
  // Files with an image's extension. Broken links are included: reading such a link fails with an error that names it.
  std::vector<std::string> images = {};
  std::vector<std::string> folders = {};       // subfolders, including links to folders
  std::vector<std::string> broken_links = {};  // broken links without an image's extension
  std::map<std::string, int64_t> others = {};  // number of other files per extension in lower case
};

// Lists a folder. NOT_FOUND or PERMISSION_DENIED names the folder if it cannot be read.
absl::StatusOr<FolderContent> ReadFolder(const std::filesystem::path& folder);

// Counts the images in all folders below `folder`, without following links. Unreadable folders count as empty.
int64_t CountImagesBelow(const std::filesystem::path& folder);

// Joins the first five names for a message, with `behind` after each: "a/, b/, ...".
std::string FirstNames(const std::vector<std::string>& names, const char* behind);

// Collects descriptions of ignored files and folders.
class PassedOver {
 public:
  // Adds a folder's broken links, and its files that are not images.
  void AddOthers(const FolderContent& content);
  void AddLinks(int64_t links) { links_ += links; }
  // Adds a link to a folder. These links are not followed, because a link may lead to a parent folder.
  void AddFolderLink() { ++folder_links_; }
  // Adds `folder`, whose subfolders contain `images` images that are nested too deep. Does nothing if `images` is 0.
  void AddDeeper(std::string_view folder, int64_t images);
  // Adds a folder that is not a class, because it has no image.
  void AddEmptyFolder(std::string_view folder) { empty_folders_.emplace_back(folder); }
  // Adds the number of images that are beside the class folders, not in one of them.
  void AddBeside(int64_t images) { beside_ += images; }
  int64_t beside() const { return beside_; }

  // Returns the counts of ignored files, such as "1 .bmp, 2 .gif; 1 image in folders of cat/"; empty if there are none.
  std::string InWords() const;

 private:
  std::map<std::string, int64_t> others_;
  int64_t links_ = 0, folder_links_ = 0, broken_links_ = 0, deeper_ = 0, beside_ = 0;
  std::vector<std::string> deep_folders_, empty_folders_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FOLDER_H_
