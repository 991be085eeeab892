// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_PARSE_JSON_H_
#define VITRINE_SERVER_WIRE_OIP_PARSE_JSON_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/byte_budget.h"
#include "server/wire/http/json_document.h"

namespace vitrine {

// Limit on the bytes of JSON in a request. Long strings (such as base64 images) do not count; only the limit on the
// message size applies to them. The limit exists because parsed JSON numbers take many times more memory than their
// text. Clients must send larger tensors as binary data after the JSON.
inline constexpr size_t kMaxJsonBytes = size_t{4} << 20;

// Reserves a share of the budget for parsing a body of `bytes` bytes. RESOURCE_EXHAUSTED, with a retry delay: the
// budget is used up.
absl::StatusOr<BudgetShare> ReserveJson(const std::shared_ptr<ByteBudget>& budget, size_t bytes);

// Parses `text`. INVALID_ARGUMENT: it is not JSON (the message begins with `what`), exceeds kMaxJsonBytes or is nested
// too deep. Checks size and depth before the parser allocates memory.
absl::Status ParseJsonBody(std::string_view text, const char* what, JsonDocument& document);

// Returns the member `name` of `object`; null if the member is absent or a JSON null. The function `is` checks the
// member's type. INVALID_ARGUMENT: the member has another type; the message ends with `wanted`, for example "a string".
absl::StatusOr<const nlohmann::json*> Member(const nlohmann::json& object, const char* name,
                                             bool (nlohmann::json::*is)() const noexcept, const char* wanted);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_PARSE_JSON_H_
