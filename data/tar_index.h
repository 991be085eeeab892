// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_TAR_INDEX_H_
#define VITRINE_DATA_TAR_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/file.h"

namespace vitrine {

// Where the content of a regular file lies within a tar file.
struct TarMember {
  std::string name;    // as stored, without a leading "./"; never used as a path
  int64_t offset = 0;  // of its first byte, from the begin of the tar file
  int64_t bytes = 0;
};

// The regular files of an uncompressed tar file (ustar, pax, GNU) in their order, from one pass over the headers;
// links, folders and devices are passed over. INVALID_ARGUMENT names the file and the member at fault: no tar file, a
// damaged header, content beyond the file's end, a sparse file, a name that is empty or has control characters, data
// after the end mark.
absl::StatusOr<std::vector<TarMember>> IndexTar(const ReadOnlyFile& file);

}  // namespace vitrine

#endif  // VITRINE_DATA_TAR_INDEX_H_
