// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_IMAGES_H_
#define VITRINE_BENCH_IMAGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Reads the JPEG, PNG and WebP files at `paths`. If a path is a folder, reads all such files in it, sorted by name.
// NOT_FOUND if there are no files. A file that the server would reject is an error.
absl::StatusOr<std::vector<std::string>> ReadImages(const std::vector<std::string>& paths);

}  // namespace vitrine

#endif  // VITRINE_BENCH_IMAGES_H_
