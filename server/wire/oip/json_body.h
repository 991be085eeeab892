// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_JSON_BODY_H_
#define VITRINE_SERVER_WIRE_OIP_JSON_BODY_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/http/byte_budget.h"
#include "server/wire/http/json_document.h"

namespace vitrine {

// Limit on the JSON in a request, without long strings (such as base64 images), which only the message size limits.
// Numbers take many times their size in JSON, and JSON numbers many times their text in memory; larger tensors are sent
// as binary data after the JSON.
inline constexpr size_t kMaxJsonBytes = size_t{4} << 20;

// Reserves the budget for parsing a body of `bytes`; RESOURCE_EXHAUSTED with a retry delay if the budget is used up.
absl::StatusOr<BudgetShare> ReserveJson(const std::shared_ptr<ByteBudget>& budget, size_t bytes);

// Parses `text`. INVALID_ARGUMENT if it is not JSON (the message begins with `what`), exceeds kMaxJsonBytes or is
// nested too deep. Size and depth are checked before the parser allocates memory.
absl::Status ParseJsonBody(std::string_view text, const char* what, JsonDocument& document);

// Returns member `name` of `object`, whose type `is` checks; null if it is absent or a JSON null. INVALID_ARGUMENT for
// another type: the message ends with `wanted`, as in "a string".
absl::StatusOr<const nlohmann::json*> Member(const nlohmann::json& object, const char* name,
                                             bool (nlohmann::json::*is)() const noexcept, const char* wanted);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_JSON_BODY_H_
