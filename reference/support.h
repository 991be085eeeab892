// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_SUPPORT_H_
#define VITRINE_REFERENCE_SUPPORT_H_

#include "absl/status/status.h"
#include "models/program/program.h"

namespace vitrine {

// UNIMPLEMENTED, with the operator's name, for what a program may say and no family says yet: the reference would
// compute something else.
absl::Status CheckSupported(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_SUPPORT_H_
