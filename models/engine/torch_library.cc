// SPDX-License-Identifier: Apache-2.0
#include "models/engine/torch_library.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
constexpr char kFile[] = "libvitrine_torch.so";

// LibTorch exports BLAS and calls it through the symbol table, where the lookup would find OpenCV's slow BLAS first.
// Sanitizers cannot replace the allocator of a library bound this way.
#ifdef VITRINE_SANITIZED
constexpr int kMode = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

void* Open(std::string& why) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& file : {folder.parent_path() / "lib" / kFile, folder / kFile, fs::path(kFile)}) {
    if (file.has_parent_path() && !fs::exists(file, error)) continue;
    if (void* const handle = dlopen(file.c_str(), kMode); handle != nullptr) return handle;
    const char* const said = dlerror();
    why = said == nullptr ? "unknown error" : said;
    if (file.has_parent_path()) break;  // the file exists, so dlopen's error is the reason
  }
  return nullptr;
}

absl::StatusOr<const TorchLibrary*> Load() {
  std::string why;
  void* const handle = Open(why);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("LibTorch's part of Vitrine, ", kFile, ", cannot be loaded: ", why));
  }
  using Entry = const TorchLibrary* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kTorchLibrarySymbol));
  if (entry == nullptr) return absl::FailedPreconditionError(absl::StrCat(kFile, " is not part of Vitrine"));
  return entry();
}

std::atomic<const TorchLibrary*> given = nullptr;

}  // namespace

void UseTorchLibrary(const TorchLibrary* library) {
  given = library;
}

absl::StatusOr<const TorchLibrary*> OpenTorchLibrary() {
  if (const TorchLibrary* const library = given; library != nullptr) return library;
  static const auto& library = *new absl::StatusOr<const TorchLibrary*>(Load());
  return library;
}

}  // namespace vitrine
