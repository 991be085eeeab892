#include "server/oip/message_json.h"

#include <nlohmann/json.hpp>
#include <string>

namespace vitrine {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::json;

// One value: element `i` of a repeated field, or the field itself where `i` is negative.
json Value(const Message& message, const FieldDescriptor* field, int i) {
  const Reflection& at = *message.GetReflection();
  const bool one = i < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? at.GetBool(message, field) : at.GetRepeatedBool(message, field, i);
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? at.GetInt32(message, field) : at.GetRepeatedInt32(message, field, i);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? at.GetInt64(message, field) : at.GetRepeatedInt64(message, field, i);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? at.GetUInt32(message, field) : at.GetRepeatedUInt32(message, field, i);
    case FieldDescriptor::CPPTYPE_UINT64:
      return one ? at.GetUInt64(message, field) : at.GetRepeatedUInt64(message, field, i);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? at.GetFloat(message, field) : at.GetRepeatedFloat(message, field, i);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? at.GetDouble(message, field) : at.GetRepeatedDouble(message, field, i);
    case FieldDescriptor::CPPTYPE_ENUM:
      return (one ? at.GetEnum(message, field) : at.GetRepeatedEnum(message, field, i))->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return one ? at.GetString(message, field) : at.GetRepeatedString(message, field, i);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageToJson(one ? at.GetMessage(message, field) : at.GetRepeatedMessage(message, field, i));
  }
  return nullptr;
}

}  // namespace

json MessageToJson(const Message& message) {
  json object = json::object();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) {
      json& list = object[field->name()] = json::array();
      const int size = message.GetReflection()->FieldSize(message, field);
      for (int each = 0; each < size; ++each) list.push_back(Value(message, field, each));
    } else if (!field->has_presence() || message.GetReflection()->HasField(message, field)) {
      object[field->name()] = Value(message, field, -1);
    }
  }
  return object;
}

}  // namespace vitrine
