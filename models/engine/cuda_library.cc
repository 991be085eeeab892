// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda_library.h"

#include <dlfcn.h>

#include "common/status_macros.h"
#include "models/engine/own_library.h"

namespace vitrine {
namespace {

absl::StatusOr<const CudaLibrary*> LoadCuda() {
  ASSIGN_OR_RETURN(void* const entry, OpenOwnLibrary("libvitrine_cuda.so", RTLD_NOW | RTLD_LOCAL, kCudaLibrarySymbol,
                                                     "Vitrine's engine for CUDA"));
  return reinterpret_cast<const CudaLibrary* (*)()>(entry)();
}

}  // namespace

absl::StatusOr<const CudaLibrary*> OpenCudaLibrary() {
  static const auto& library = *new absl::StatusOr<const CudaLibrary*>(LoadCuda());
  return library;
}

}  // namespace vitrine
