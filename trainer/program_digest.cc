// SPDX-License-Identifier: Apache-2.0
#include "trainer/program_digest.h"

#include "vitrine_program_digest.h"

namespace vitrine {

std::string_view ProgramDigest() {
  return VITRINE_PROGRAM_DIGEST;
}

}  // namespace vitrine
