// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_OWN_LIBRARY_H_
#define VITRINE_MODELS_ENGINE_OWN_LIBRARY_H_

#include "absl/status/statusor.h"

namespace vitrine {

// Opens a shared library of Vitrine with dlopen's `mode`: from ../lib relative to the program's folder, from that
// folder, or from the system's search path. Returns the address of its function `symbol`. FAILED_PRECONDITION says why
// it cannot be loaded; `content` names what the library is.
absl::StatusOr<void*> OpenOwnLibrary(const char* file, int mode, const char* symbol, const char* content);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_OWN_LIBRARY_H_
