// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FILE_CACHE_FOLDER_H_
#define VITRINE_COMMON_FILE_CACHE_FOLDER_H_

#include <filesystem>

namespace vitrine {

// Returns the folder for cached files, which may not exist: the first path in $CACHE_DIRECTORY (set by systemd), else
// $XDG_CACHE_HOME/vitrine, else ~/.cache/vitrine. Returns "" if $HOME is also missing.
std::filesystem::path CacheFolder();

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_CACHE_FOLDER_H_
