// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_DOWNLOAD_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_DOWNLOAD_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "common/charts/progress_display.h"
#include "models/tool/publish/import/https.h"

namespace vitrine {

// A file to fetch, with its expected digest.
struct Download {
  std::string url;
  std::filesystem::path file = {};  // destination; its folder is created
  int64_t bytes = -1;               // -1: unknown
  int64_t most_bytes = 0;           // limit if `bytes` is unknown
  std::string sha256 = {};          // 64 lower-case hexadecimal digits
  Transport ask = Ask;              // sends the requests
};

// Downloads to `file` + ".part", resuming an earlier download (HTTP Range), and renames it if its digest is correct. So
// if the process dies, `file` is complete or missing, and the next call continues. Reconnects if a connection breaks
// after it has transferred data. Sends no request if the file exists with the correct digest.
//
// UNAVAILABLE: server or network error; PERMISSION_DENIED: status 401 or 403; after either error, a later call
// continues the download. NOT_FOUND: no file. DATA_LOSS: digest mismatch (names both digests and removes the bytes),
// too few or too many bytes, or the wrong range. ABORTED: another process is downloading the file. All other errors are
// errors of the file system.
absl::Status Fetch(const Download& download, ProgressDisplay& display);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_DOWNLOAD_H_
