// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_GZIP_H_
#define VITRINE_COMMON_GZIP_H_

#include <string>

#include "absl/strings/string_view.h"

namespace vitrine {

// Returns one gzip member (RFC 1952), compressed at the fastest level, at several hundred megabytes per second.
std::string Gzip(absl::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_GZIP_H_
