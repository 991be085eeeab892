// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_IMPORT_DOWNLOAD_H_
#define VITRINE_PUBLISH_IMPORT_DOWNLOAD_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "report/progress_display.h"

namespace vitrine {

// A file that is there, and whose digest is known, before it is fetched.
struct Download {
  std::string url;
  std::filesystem::path file = {};  // where it goes; its folder is made
  int64_t bytes = -1;               // -1: not known
  int64_t most_bytes = 0;           // that are written where `bytes` is not known
  std::string sha256 = {};          // 64 lower-case hexadecimal digits
};

// Fetches it to `file` + ".part", from where that ends (HTTP Range), and gives it its name once its digest is right:
// whenever this process dies, `file` is whole or not there, and the next call goes on. A connection that breaks after
// it brought something is made anew. Nothing is asked for where the file is there and right.
//
// UNAVAILABLE: the server or the network, and that the same command continues. DATA_LOSS: other bytes than the digest's
// came; names both digests, and the bytes are removed. ABORTED: another process fetches it. Others as the disk says.
absl::Status Fetch(const Download& download, ProgressDisplay& display);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_IMPORT_DOWNLOAD_H_
