// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_SUPPORT_H_
#define VITRINE_MODELS_REFERENCE_SUPPORT_H_

#include "absl/status/status.h"
#include "models/program/program.h"

namespace vitrine {

// Checks that the reference implements every operator as configured. UNIMPLEMENTED names an operator with settings that
// a program may have but no family uses yet.
absl::Status CheckSupported(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_SUPPORT_H_
