// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_OWN_LIBRARY_H_
#define VITRINE_MODELS_ENGINE_OWN_LIBRARY_H_

#include "absl/status/statusor.h"

namespace vitrine {

// Opens a shared library of Vitrine with dlopen and `mode`. Looks for the library in ../lib relative to the program's
// folder, in the program's folder, and in the system's search path. Returns the address of its function `symbol`.
// FAILED_PRECONDITION, with the reason, if loading fails; `content` describes the library in the message.
absl::StatusOr<void*> OpenOwnLibrary(const char* file, int mode, const char* symbol, const char* content);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_OWN_LIBRARY_H_
