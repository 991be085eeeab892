// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FILE_CACHE_FOLDER_H_
#define VITRINE_COMMON_FILE_CACHE_FOLDER_H_

#include <filesystem>

namespace vitrine {

// Returns the folder for files that can be made again: the first of $CACHE_DIRECTORY (set by systemd), else vitrine/ in
// $XDG_CACHE_HOME, else ~/.cache/vitrine; without $HOME "". It may not exist.
std::filesystem::path CacheFolder();

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_CACHE_FOLDER_H_
