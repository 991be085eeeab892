// SPDX-License-Identifier: Apache-2.0
// The only exported symbol of libvitrine_torch.so: kTorchLibrarySymbol.
#include "models/reference/torch_backend/torch_functions.h"

extern "C" __attribute__((visibility("default"))) const vitrine::TorchLibrary* vitrine_torch_library() {
  return &vitrine::kTorchFunctions;
}
