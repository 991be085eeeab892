// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_QUERY_H_
#define VITRINE_SERVER_WIRE_HTTP_QUERY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// The parameters of a URL's query, "name=value&...", decoded, in their order; one without "=" has an empty value.
// INVALID_ARGUMENT where a % is not followed by two hexadecimal digits, or something is not UTF-8 or holds a zero byte.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseQueryString(std::string_view query);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_QUERY_H_
