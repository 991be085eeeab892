// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_PICTURES_H_
#define VITRINE_CLIENT_PICTURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Where pictures are found besides the paths on the command line, and how far.
struct PictureSearch {
  bool recursive = false;       // folders with those inside them
  std::string files_from = {};  // a file that lists paths, "-" for the standard input; empty: none
  bool null_separated = false;  // the list, as find -print0 writes it; otherwise a path a line, CR LF or LF behind it
};

struct FoundPictures {
  std::vector<std::string> paths = {};
  std::string passed_over = {};  // what the folders have besides, in words (data/folder.h); empty: nothing
};

// The pictures to ask about, those on the command line first. Of a folder its visible pictures (data/folder.h), sorted;
// a name with * ? or [ that no file has is a pattern (glob(7)) and stands for the files that match it, sorted; "-" is
// the picture on the standard input. The paths of a list are no patterns, "-" is a file there, and what ListedFile
// (data/file_names.h) finds is taken. What has no picture (an empty folder, a pattern without a match, a missing file)
// stays in the result as it is; ReadPicture says what is wrong with it. NOT_FOUND, ...: the list cannot be read.
// INVALID_ARGUMENT: no path at all, a list in UTF-16, or two wishes for the standard input.
absl::StatusOr<FoundPictures> FindPictures(const std::vector<std::string>& paths, const PictureSearch& search = {});

// A name for each picture's results: its file name without the ending, and "-2", "-3", ... behind it where that would
// be some other picture's as well. Same order as `paths`.
std::vector<std::string> DistinctStems(const std::vector<std::string>& paths);

// The file at `path`, or the standard input for "-". The sentence of an error says what is wrong without the path.
absl::StatusOr<std::string> ReadPicture(const std::string& path, int64_t max_bytes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_PICTURES_H_
