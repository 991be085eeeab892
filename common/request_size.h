// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_REQUEST_SIZE_H_
#define VITRINE_COMMON_REQUEST_SIZE_H_

#include <cstdint>

namespace vitrine {

// Default maximum size of a request in bytes, for server and client.
inline constexpr int64_t kMaxRequestBytes = int64_t{16} << 20;

}  // namespace vitrine

#endif  // VITRINE_COMMON_REQUEST_SIZE_H_
