// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_DIGEST_H_
#define VITRINE_COMMON_DATA_DIGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Returns the SHA-256 of the sorted lines "name<TAB>label", as 64 hexadecimal digits. The digest covers names and
// labels of the images, not their contents. Reads no image.
std::string DigestOf(const Dataset& data);

// Returns the SHA-256 of each image's stored bytes, in the order of the set. Reads every image, on `threads` threads.
// Returns the errors of Dataset::stored.
absl::StatusOr<std::vector<std::string>> ImageDigestsOf(const Dataset& data, int threads = 1);

// Returns how many of `images` are also in `others`; both are results of ImageDigestsOf.
int64_t CountShared(const std::vector<std::string>& images, const std::vector<std::string>& others);

// Returns a manifest's data_digest: the SHA-256 of the sorted lines "name<TAB>label<TAB>SHA-256 of the image's stored
// bytes". `images` is the result of ImageDigestsOf; without it, every image is read.
std::string ContentDigestOf(const Dataset& data, const std::vector<std::string>& images);
absl::StatusOr<std::string> ContentDigestOf(const Dataset& data, int threads = 1);

// Returns the digest of DigestOf's lines, but in the order of the set instead of sorted.
std::string OrderedDigestOf(const Dataset& data);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_DIGEST_H_
