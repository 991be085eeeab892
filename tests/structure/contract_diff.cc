// SPDX-License-Identifier: Apache-2.0
#include "tests/structure/contract_diff.h"

#include <google/protobuf/descriptor.h>

#include <string_view>

namespace vitrine {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorSet;
using google::protobuf::ServiceDescriptor;

class Comparison {
 public:
  explicit Comparison(const DescriptorPool& now) : now_(now) {}

  void CompareFile(const FileDescriptor& file) {
    for (int i = 0; i < file.message_type_count(); ++i) CompareMessage(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) CompareEnum(*file.enum_type(i));
    for (int i = 0; i < file.service_count(); ++i) CompareService(*file.service(i));
  }

  std::vector<std::string> Take() { return std::move(changes_); }

 private:
  void Report(std::string_view what, std::string_view why) {
    changes_.push_back(std::string(what) + " " + std::string(why));
  }

  void CompareMessage(const Descriptor& accepted) {
    const Descriptor* now = now_.FindMessageTypeByName(accepted.full_name());
    if (now == nullptr) return Report(accepted.full_name(), "is gone");
    for (int i = 0; i < accepted.field_count(); ++i) CompareField(*accepted.field(i), *now);
    for (int i = 0; i < accepted.nested_type_count(); ++i) CompareMessage(*accepted.nested_type(i));
    for (int i = 0; i < accepted.enum_type_count(); ++i) CompareEnum(*accepted.enum_type(i));
  }

  void CompareField(const FieldDescriptor& accepted, const Descriptor& message) {
    const FieldDescriptor* now = message.FindFieldByNumber(accepted.number());
    if (now == nullptr) {
      if (!message.IsReservedNumber(accepted.number()) || !message.IsReservedName(accepted.name())) {
        Report(accepted.full_name(), "is gone and its number and name are not reserved");
      }
      return;
    }
    if (now->name() != accepted.name()) Report(accepted.full_name(), "is now named " + now->name());
    if (std::string_view(now->type_name()) != accepted.type_name()) Report(accepted.full_name(), "changed its type");
    if (now->label() != accepted.label()) Report(accepted.full_name(), "changed between single and repeated");
    if (now->has_presence() != accepted.has_presence()) Report(accepted.full_name(), "changed its presence");
    const auto* group = accepted.real_containing_oneof();
    const auto* group_now = now->real_containing_oneof();
    if ((group == nullptr) != (group_now == nullptr) || (group && group->name() != group_now->name())) {
      Report(accepted.full_name(), "moved into or out of a oneof");
    }
    if (accepted.message_type() && now->message_type() &&
        accepted.message_type()->full_name() != now->message_type()->full_name()) {
      Report(accepted.full_name(), "changed its message type");
    }
    if (accepted.enum_type() && now->enum_type() &&
        accepted.enum_type()->full_name() != now->enum_type()->full_name()) {
      Report(accepted.full_name(), "changed its enum type");
    }
  }

  void CompareEnum(const EnumDescriptor& accepted) {
    const EnumDescriptor* now = now_.FindEnumTypeByName(accepted.full_name());
    if (now == nullptr) return Report(accepted.full_name(), "is gone");
    for (int i = 0; i < accepted.value_count(); ++i) {
      const auto* value = now->FindValueByNumber(accepted.value(i)->number());
      if (value == nullptr || value->name() != accepted.value(i)->name()) {
        Report(accepted.value(i)->full_name(), "is gone or has another number");
      }
    }
  }

  void CompareService(const ServiceDescriptor& accepted) {
    const ServiceDescriptor* now = now_.FindServiceByName(accepted.full_name());
    if (now == nullptr) return Report(accepted.full_name(), "is gone");
    for (int i = 0; i < accepted.method_count(); ++i) {
      const auto& before = *accepted.method(i);
      const auto* method = now->FindMethodByName(before.name());
      if (method == nullptr) {
        Report(before.full_name(), "is gone");
      } else if (method->input_type()->full_name() != before.input_type()->full_name() ||
                 method->output_type()->full_name() != before.output_type()->full_name() ||
                 method->client_streaming() != before.client_streaming() ||
                 method->server_streaming() != before.server_streaming()) {
        Report(before.full_name(), "changed its messages or its streaming");
      }
    }
  }

  const DescriptorPool& now_;
  std::vector<std::string> changes_;
};

}  // namespace

std::vector<std::string> BreakingChanges(const FileDescriptorSet& accepted, const FileDescriptorSet& now) {
  DescriptorPool accepted_pool, now_pool;
  for (const auto& file : now.file()) now_pool.BuildFile(file);
  Comparison comparison(now_pool);
  for (const auto& file : accepted.file()) {
    const FileDescriptor* built = accepted_pool.BuildFile(file);
    if (built == nullptr) return {"the accepted contract does not build: " + file.name()};
    comparison.CompareFile(*built);
  }
  return comparison.Take();
}

}  // namespace vitrine
