// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_PICTURES_H_
#define VITRINE_BENCH_PICTURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// The bytes of the JPEG, PNG and WebP files at `paths`; a folder stands for those in it, sorted by name. NOT_FOUND if
// there is none; a file that the server would refuse is an error.
absl::StatusOr<std::vector<std::string>> ReadPictures(const std::vector<std::string>& paths);

}  // namespace vitrine

#endif  // VITRINE_BENCH_PICTURES_H_
