// SPDX-License-Identifier: Apache-2.0
#include "models/engine/own_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

void* Open(const char* name, int mode, std::string& why) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& file : {folder.parent_path() / "lib" / name, folder / name, fs::path(name)}) {
    if (file.has_parent_path() && !fs::exists(file, error)) continue;
    if (void* const handle = dlopen(file.c_str(), mode); handle != nullptr) return handle;
    const char* const said = dlerror();
    why = said == nullptr ? "unknown error" : said;
    if (file.has_parent_path()) break;  // the file exists, so its error is the one to report
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<void*> OpenOwnLibrary(const char* file, int mode, const char* symbol, const char* content) {
  std::string why;
  void* const handle = Open(file, mode, why);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(content, ", ", file, ", cannot be loaded: ", why));
  }
  void* const entry = dlsym(handle, symbol);
  if (entry == nullptr) return absl::FailedPreconditionError(absl::StrCat(file, " is not Vitrine's"));
  return entry;
}

}  // namespace vitrine
