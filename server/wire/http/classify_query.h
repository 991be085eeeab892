// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_CLASSIFY_QUERY_H_
#define VITRINE_SERVER_WIRE_HTTP_CLASSIFY_QUERY_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/wire/http/attention_parameter.h"
#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

// The parameters of a URL's query, "name=value&...", decoded, in their order; one without "=" has an empty value.
// INVALID_ARGUMENT where a % is not followed by two hexadecimal digits, or something is not UTF-8 or holds a zero byte.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseQueryString(std::string_view query);

// What the query of a URL says of a request to classify.
struct ClassifyQuery {
  // top_k, resolution, priority, version_label, request_id and features.
  v1::ClassifyRequest request = {};
  absl::Duration timeout = absl::InfiniteDuration();  // without one
  std::vector<AttentionParameter> attention = {};
  std::optional<v1::AttentionEncoding> attention_encoding = {};
  std::optional<bool> normalize = {};  // of every feature, which have it
};

// INVALID_ARGUMENT for a parameter that is not known, with those that are, one that is there twice, but for attention,
// and a value that cannot be, with those that can.
absl::StatusOr<ClassifyQuery> ParseClassifyQuery(std::string_view query);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_QUERY_H_
