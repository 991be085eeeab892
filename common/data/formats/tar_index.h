// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_TAR_INDEX_H_
#define VITRINE_COMMON_DATA_FORMATS_TAR_INDEX_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/file.h"

namespace vitrine {

// Position of a regular file in a tar file.
struct TarMember {
  std::string name;    // name as stored, without leading "./"; never used as a path
  int64_t offset = 0;  // offset of the first byte from the start of the tar file
  int64_t bytes = 0;
};

// Lists the regular files of an uncompressed tar file (ustar, pax, GNU) in their order, in one pass over the headers.
// Links, folders and devices are ignored; the number of links is added to `*links`. INVALID_ARGUMENT, with the file and
// the member: the file is no tar file, has a damaged header, or has data after the end mark; a member extends beyond
// the end of the file, is sparse, or has a name that is empty or has control characters.
absl::StatusOr<std::vector<TarMember>> IndexTar(const ReadOnlyFile& file, int64_t* links = nullptr);

// Reads a member of a tar file that had `tar_bytes` bytes when it was indexed. Opens the file for each call, because
// large sets have more tar files than a process may keep open. FAILED_PRECONDITION if the file's size has changed;
// other errors come from ReadOnlyFile.
absl::StatusOr<std::string> ReadTarMember(const std::filesystem::path& tar, int64_t tar_bytes, int64_t offset,
                                          int64_t bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_TAR_INDEX_H_
