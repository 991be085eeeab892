// SPDX-License-Identifier: Apache-2.0
#include "models/engine/torch_library.h"

#include <dlfcn.h>

#include "common/status_macros.h"
#include "models/engine/own_library.h"

namespace vitrine {
namespace {

// LibTorch contains BLAS functions, but looks them up by symbol. Without RTLD_DEEPBIND, the lookup would first find a
// slow libblas that the program may have loaded. Builds with sanitizers omit this flag, because sanitizers cannot
// replace the allocator of a library that is opened with this flag.
#ifdef VITRINE_SANITIZED
constexpr int kMode = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

absl::StatusOr<const TorchLibrary*> LoadTorch() {
  ASSIGN_OR_RETURN(void* const entry,
                   OpenOwnLibrary("libvitrine_torch.so", kMode, kTorchLibrarySymbol, "LibTorch's part of Vitrine"));
  return reinterpret_cast<const TorchLibrary* (*)()>(entry)();
}

}  // namespace

absl::StatusOr<const TorchLibrary*> OpenTorchLibrary() {
  static const auto& library = *new absl::StatusOr<const TorchLibrary*>(LoadTorch());
  return library;
}

}  // namespace vitrine
