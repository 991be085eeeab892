// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PROGRAM_DIGEST_H_
#define VITRINE_TRAINER_PROGRAM_DIGEST_H_

#include <string_view>

namespace vitrine {

// Returns the SHA-256, in hexadecimal, of the sources that decide what a training computes
// (cmake/program_sources.cmake). Unlike the commit's hash, the digest does not change if only documentation, server or
// reports change.
std::string_view ProgramDigest();

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PROGRAM_DIGEST_H_
