// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate_message.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace vitrine {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kGrowth = 64;  // maximum growth of a text by one mutation, in bytes

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  // Changes one field of `message` or of one of its submessages. Usually chooses a field that is set.
  void Mutate(Message& message) {
    const auto& type = *message.GetDescriptor();
    if (type.field_count() == 0) return;
    std::vector<const FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    const FieldDescriptor& field = set.empty() || Below(4) == 0 ? *type.field(Below(type.field_count()))
                                                                : *set[Below(static_cast<int>(set.size()))];
    if (field.is_repeated()) return MutateList(message, field);
    if (Below(8) == 0) return message.GetReflection()->ClearField(&message, &field);
    MutateValue(message, field, -1);
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  // Adds, removes or changes an element of a repeated field.
  void MutateList(Message& message, const FieldDescriptor& field) {
    const Reflection& at = *message.GetReflection();
    const int size = at.FieldSize(message, &field);
    if (size == 0 || Below(4) == 0) {
      AddElement(message, field);
      return MutateValue(message, field, size);
    }
    const int chosen = Below(size);
    if (Below(4) == 0) {
      at.SwapElements(&message, &field, chosen, size - 1);
      return at.RemoveLast(&message, &field);
    }
    MutateValue(message, field, chosen);
  }

  static void AddElement(Message& message, const FieldDescriptor& field) {
    const Reflection& at = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return at.AddBool(&message, &field, false);
      case FieldDescriptor::CPPTYPE_INT32:
        return at.AddInt32(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_INT64:
        return at.AddInt64(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_UINT32:
        return at.AddUInt32(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_UINT64:
        return at.AddUInt64(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return at.AddFloat(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return at.AddDouble(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return at.AddEnumValue(&message, &field, 0);
      case FieldDescriptor::CPPTYPE_STRING:
        return at.AddString(&message, &field, "");
      case FieldDescriptor::CPPTYPE_MESSAGE:
        at.AddMessage(&message, &field);
    }
  }

  // Changes the value of the field. If `i` is not negative, changes its element `i`.
  void MutateValue(Message& message, const FieldDescriptor& field, int i) {
    const Reflection& at = *message.GetReflection();
#define VITRINE_MUTATE(CPPTYPE, TYPE, CHANGED)                                                \
  case FieldDescriptor::CPPTYPE_##CPPTYPE:                                                    \
    if (i < 0) return at.Set##TYPE(&message, &field, CHANGED(at.Get##TYPE(message, &field))); \
    return at.SetRepeated##TYPE(&message, &field, i, CHANGED(at.GetRepeated##TYPE(message, &field, i)));
    switch (field.cpp_type()) {
      VITRINE_MUTATE(BOOL, Bool, !)
      VITRINE_MUTATE(INT32, Int32, Number)
      VITRINE_MUTATE(INT64, Int64, Number)
      VITRINE_MUTATE(UINT32, UInt32, Number)
      VITRINE_MUTATE(UINT64, UInt64, Number)
      VITRINE_MUTATE(FLOAT, Float, Number)
      VITRINE_MUTATE(DOUBLE, Double, Number)
      VITRINE_MUTATE(STRING, String, Text)
      VITRINE_MUTATE(ENUM, EnumValue, EnumNumber)
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Mutate(i < 0 ? *at.MutableMessage(&message, &field) : *at.MutableRepeatedMessage(&message, &field, i));
    }
#undef VITRINE_MUTATE
  }

  template <typename T>
  T Number(T value) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {
        0, 1, static_cast<T>(-1), Limits::max(), Limits::lowest(), Limits::infinity(), Limits::quiet_NaN()};
    switch (Below(4)) {
      case 0:
        return special[Below(std::is_floating_point_v<T> ? 7 : 5)];
      case 1:
        return static_cast<T>(Below(300));
      case 2:  // a neighbouring value
        if constexpr (std::is_floating_point_v<T>) {
          return value / 2;
        } else {
          return static_cast<T>(static_cast<uint64_t>(value) + (Below(2) == 0 ? 1 : -1));
        }
      default:  // libFuzzer also uses values from comparisons in the program
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(&value), sizeof(value), sizeof(value));
        return value;
    }
  }

  int EnumNumber(int) {
    return Below(12) - 1;
  }

  std::string Text(std::string text) {
    const size_t size = text.size();
    text.resize(size + kGrowth);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
    return text;
  }

  std::minstd_rand random_;
};

// Ignores the parser's errors.
class Silent : public google::protobuf::io::ErrorCollector {
  void AddError(int, int, const std::string&) override {}
};

size_t Put(const std::string& bytes, uint8_t* data, size_t size, size_t max_size) {
  if (bytes.empty() || bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace

size_t MutateWire(Message& scratch, uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 4 == 0 || !scratch.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  Mutator(seed).Mutate(scratch);
  return Put(scratch.SerializeAsString(), data, size, max_size);
}

size_t MutateText(Message& scratch, uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Silent silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  if (seed % 4 == 0 || !parser.ParseFromString({reinterpret_cast<const char*>(data), size}, &scratch)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  Mutator(seed).Mutate(scratch);
  std::string text;
  google::protobuf::TextFormat::PrintToString(scratch, &text);
  return Put(text, data, size, max_size);
}

}  // namespace vitrine
