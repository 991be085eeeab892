// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LIB_FILLED_H_
#define VITRINE_TESTS_CLIENT_LIB_FILLED_H_

#include <google/protobuf/message.h>

#include <string>

namespace vitrine {

// Sets every field of a message and its submessages. Numbers and texts get different values, and repeated fields get
// two elements, so that a test detects output that omits or confuses fields. In a oneof, the last field stays set. A
// value depends only on the number of its field and on the enclosing messages, so a new field does not change other
// values.
inline void Fill(google::protobuf::Message& message, int seed) {
  using google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const auto put = [&](auto set, auto add, auto value) {
      field->is_repeated() ? (reflection.*add)(&message, field, value) : (reflection.*set)(&message, field, value);
    };
    using R = google::protobuf::Reflection;
    for (int times = field->is_repeated() ? 2 : 1; times > 0; --times) {
      const int number = (31 * seed + 2 * field->number() + times) % 9973;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE:
          Fill(field->is_repeated() ? *reflection.AddMessage(&message, field)
                                    : *reflection.MutableMessage(&message, field),
               number);
          break;
        case FieldDescriptor::CPPTYPE_STRING:
          put(&R::SetString, &R::AddString, field->name() + "-" + std::to_string(number));
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          put(&R::SetInt32, &R::AddInt32, number);
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          put(&R::SetInt64, &R::AddInt64, int64_t{number});
          break;
        case FieldDescriptor::CPPTYPE_UINT32:
          put(&R::SetUInt32, &R::AddUInt32, static_cast<uint32_t>(number));
          break;
        case FieldDescriptor::CPPTYPE_UINT64:
          put(&R::SetUInt64, &R::AddUInt64, static_cast<uint64_t>(number));
          break;
        case FieldDescriptor::CPPTYPE_FLOAT:
          put(&R::SetFloat, &R::AddFloat, static_cast<float>(number) + 0.5F);
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          put(&R::SetDouble, &R::AddDouble, number + 0.25);
          break;
        case FieldDescriptor::CPPTYPE_BOOL:
          put(&R::SetBool, &R::AddBool, true);
          break;
        case FieldDescriptor::CPPTYPE_ENUM:
          put(&R::SetEnumValue, &R::AddEnumValue,
              field->enum_type()->value(1 + number % (field->enum_type()->value_count() - 1))->number());
          break;
      }
    }
  }
}

template <typename Message>
Message Filled() {
  Message message;
  Fill(message, 1);
  return message;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LIB_FILLED_H_
