// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_MESSAGE_JSON_H_
#define VITRINE_SERVER_WIRE_OIP_MESSAGE_JSON_H_

#include <google/protobuf/message.h>

#include <nlohmann/json_fwd.hpp>

namespace vitrine {

// A message as the protocol's REST form writes it: fields by their names in the .proto, whole numbers as numbers (which
// protobuf's own JSON writes as strings), enums by name, set or not; messages that are not set are left out. Requires
// that no field is a map. Goes to `object`, part of a JsonDocument, which is null before.
void MessageToJson(const google::protobuf::Message& message, nlohmann::json& object);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_MESSAGE_JSON_H_
