// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_IMAGES_H_
#define VITRINE_CLIENT_COMMANDS_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Sources of image paths other than the command line.
struct ImageSearch {
  bool recursive = false;       // search folders recursively
  std::string files_from = {};  // file with a list of paths, "-" for standard input; empty: none
  bool null_separated = false;  // true: list entries end with NUL, as from find -print0; false: with LF or CR LF
};

struct FoundImages {
  std::vector<std::string> paths = {};
  // description of the files that were skipped in folders (common/data/folder.h); empty: none
  std::string passed_over = {};
};

// Returns the paths of the images: first the paths on the command line, then the paths in the list. A folder stands for
// its visible images (common/data/folder.h), sorted. On the command line, a name that has *, ? or [ and is not a file
// is a pattern (glob(7)), which stands for the matching files, sorted; "-" stands for the image on standard input.
//
// In the list, names are not patterns, and "-" is a file; ListedFile (common/data/file_names.h) resolves the paths. A
// path without an image (an empty folder, a pattern without a match, a missing file) stays in the result; ReadImage
// returns its error. INVALID_ARGUMENT: no path, a list in UTF-16, or standard input used twice. Other errors: the list
// cannot be read.
absl::StatusOr<FoundImages> FindImages(const std::vector<std::string>& paths, const ImageSearch& search = {});

// Returns a name for each image's results, in the order of `paths`: the file name without extension. Repeated names get
// "-2", "-3", ... appended.
std::vector<std::string> DistinctStems(const std::vector<std::string>& paths);

// Reads the file at `path`, or standard input for "-". Error messages do not contain the path.
absl::StatusOr<std::string> ReadImage(const std::string& path, int64_t max_bytes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_IMAGES_H_
