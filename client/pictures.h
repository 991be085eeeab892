#ifndef VITRINE_CLIENT_PICTURES_H_
#define VITRINE_CLIENT_PICTURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Replaces each folder among `paths` by the pictures directly inside it (names that end in .jpg, .jpeg or .png in any
// case), sorted by name; other paths stay as they are, whether there is a file or not.
// NOT_FOUND: a folder without pictures. PERMISSION_DENIED: one that cannot be read.
absl::StatusOr<std::vector<std::string>> ExpandPaths(const std::vector<std::string>& paths);

// A name for each picture's results: its file name without the ending, and "-2", "-3", ... behind it where that would
// be some other picture's as well. Same order as `paths`.
std::vector<std::string> DistinctStems(const std::vector<std::string>& paths);

// The whole file. The sentence of an error does not repeat the path.
absl::StatusOr<std::string> ReadPicture(const std::string& path, int64_t max_bytes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_PICTURES_H_
