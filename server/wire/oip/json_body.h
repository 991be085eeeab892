// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_JSON_BODY_H_
#define VITRINE_SERVER_WIRE_OIP_JSON_BODY_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/http/byte_budget.h"
#include "server/wire/http/json_document.h"

namespace vitrine {

// Most bytes of JSON in a request beside long strings, as base64 of a picture is one: these are bounded by the message
// alone. Numbers take many times their value's size in JSON, and many times their text's size in memory; larger tensors
// go as binary data behind the JSON.
inline constexpr size_t kMaxJsonBytes = size_t{4} << 20;

// Takes the room that a body of `bytes` needs while it is read; RESOURCE_EXHAUSTED with a time to come back where the
// budget has none.
absl::StatusOr<BudgetShare> ReserveJson(const std::shared_ptr<ByteBudget>& budget, size_t bytes);

// Parses `text`, of which `what` begins the sentence if it is not JSON. INVALID_ARGUMENT if it is none, has more bytes
// than kMaxJsonBytes or is nested too deep. The text is looked over before the parser takes memory for it.
absl::Status ParseJsonBody(std::string_view text, const char* what, JsonDocument& document);

// Returns member `name` of `object`, of the type that `is` asks for; null where it is absent, or null in JSON.
// INVALID_ARGUMENT for another type: `wanted` ends the sentence, as in "a string".
absl::StatusOr<const nlohmann::json*> Member(const nlohmann::json& object, const char* name,
                                             bool (nlohmann::json::*is)() const noexcept, const char* wanted);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_JSON_BODY_H_
