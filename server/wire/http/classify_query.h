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

// Parses and decodes a URL's query, "name=value&...", in order. A name without "=" has an empty value.
// INVALID_ARGUMENT: % without two hexadecimal digits after it, text that is not UTF-8, or a zero byte.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseQueryString(std::string_view query);

// Parameters of a classification in a URL's query.
struct ClassifyQuery {
  // The fields top_k, resolution, priority, version_label, request_id and features.
  v1::ClassifyRequest request = {};
  absl::Duration deadline = absl::InfiniteDuration();  // time limit of the request; infinite if absent
  std::vector<AttentionParameter> attention = {};
  std::optional<v1::AttentionEncoding> attention_encoding = {};
  std::optional<bool> normalize = {};  // applies to all of `features`
};

// Parses a query. INVALID_ARGUMENT: an unknown parameter (the message lists the known parameters), a repeated parameter
// other than `attention`, a parameter without effect (such as `normalize` alone), or an invalid value (the message
// lists valid values).
absl::StatusOr<ClassifyQuery> ParseClassifyQuery(std::string_view query);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_CLASSIFY_QUERY_H_
