// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/message_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "server/wire/http/json_document.h"

namespace vitrine {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::json;

// One value: element `i` of a repeated field, or the field itself where `i` is negative.
void PutValue(const Message& message, const FieldDescriptor* field, int i, json& value) {
  const Reflection& at = *message.GetReflection();
#define VITRINE_VALUE(TYPE) (i < 0 ? at.Get##TYPE(message, field) : at.GetRepeated##TYPE(message, field, i))
#define VITRINE_NUMBER(CPPTYPE, TYPE)      \
  case FieldDescriptor::CPPTYPE_##CPPTYPE: \
    value = VITRINE_VALUE(TYPE);           \
    break;
  switch (field->cpp_type()) {
    VITRINE_NUMBER(BOOL, Bool)
    VITRINE_NUMBER(INT32, Int32)
    VITRINE_NUMBER(INT64, Int64)
    VITRINE_NUMBER(UINT32, UInt32)
    VITRINE_NUMBER(UINT64, UInt64)
    VITRINE_NUMBER(FLOAT, Float)
    VITRINE_NUMBER(DOUBLE, Double)
    VITRINE_NUMBER(STRING, String)
    case FieldDescriptor::CPPTYPE_ENUM:
      value = VITRINE_VALUE(Enum)->name();
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      MessageToJson(VITRINE_VALUE(Message), value);
  }
#undef VITRINE_NUMBER
#undef VITRINE_VALUE
}

}  // namespace

void MessageToJson(const Message& message, json& object) {
  object = JsonObject();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) {
      json& list = object[field->name()];
      list = JsonArray();
      const int size = message.GetReflection()->FieldSize(message, field);
      for (int each = 0; each < size; ++each) PutValue(message, field, each, Append(list));
    } else if (!field->has_presence() || message.GetReflection()->HasField(message, field)) {
      PutValue(message, field, -1, object[field->name()]);
    }
  }
}

}  // namespace vitrine
