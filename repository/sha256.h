// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_SHA256_H_
#define VITRINE_REPOSITORY_SHA256_H_

#include <string>
#include <string_view>

namespace vitrine {

// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_SHA256_H_
