// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_IMAGES_H_
#define VITRINE_CLIENT_COMMANDS_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Further sources of image paths besides the command line.
struct ImageSearch {
  bool recursive = false;       // search folders recursively
  std::string files_from = {};  // file with a list of paths, "-" for standard input; empty: none
  bool null_separated = false;  // the list is separated by NUL, as by find -print0; otherwise by LF or CR LF
};

struct FoundImages {
  std::vector<std::string> paths = {};
  std::string passed_over = {};  // description of other files in the folders (common/data/folder.h); empty: none
};

// Returns the paths of the images, those on the command line first. A folder gives its visible images
// (common/data/folder.h), sorted; a name with * ? or [ that is no file is a pattern (glob(7)) and gives the matching
// files, sorted; "-" is the image on standard input. Paths of a list are not patterns, "-" is a file there, and they
// are resolved by ListedFile (common/data/file_names.h). A path without an image (an empty folder, a pattern without a
// match, a missing file) stays in the result; ReadImage returns its error. NOT_FOUND, ...: the list cannot be read.
// INVALID_ARGUMENT: no path, a list in UTF-16, or two uses of standard input.
absl::StatusOr<FoundImages> FindImages(const std::vector<std::string>& paths, const ImageSearch& search = {});

// Returns a name for each image's results: its file name without extension, with "-2", "-3", ... where another image
// has the same name. Same order as `paths`.
std::vector<std::string> DistinctStems(const std::vector<std::string>& paths);

// Reads the file at `path`, or standard input for "-". Error messages do not contain the path.
absl::StatusOr<std::string> ReadImage(const std::string& path, int64_t max_bytes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_IMAGES_H_
