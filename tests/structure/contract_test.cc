// SPDX-License-Identifier: Apache-2.0
// Compares the .proto files with the last accepted contract, and tests that every field has a comment.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/paths.h"
#include "tests/structure/contract_diff.h"

namespace vitrine {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorSet;
using testing::ElementsAre;
using testing::IsEmpty;

FileDescriptorSet ReadSet(const char* path) {
  std::ifstream file(path, std::ios::binary);
  FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromIstream(&file)) << path;
  return set;
}

FileDescriptorSet Now() {
  return ReadSet(VITRINE_BUILD "/gen/vitrine.binpb");
}

FileDescriptorSet Accepted() {
  return ReadSet(VITRINE_SOURCE "/tests/structure/accepted_contract.binpb");
}

FileDescriptorSet Example() {
  FileDescriptorSet set;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(file {
             name: "e.proto"
             syntax: "proto3"
             message_type {
               name: "M"
               field { name: "a" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
               field { name: "b" number: 2 type: TYPE_STRING label: LABEL_REPEATED }
             }
             enum_type {
               name: "E"
               value { name: "E_ZERO" number: 0 }
               value { name: "E_ONE" number: 1 }
             }
             service {
               name: "S"
               method { name: "Call" input_type: ".M" output_type: ".M" }
             }
           })pb",
      &set));
  return set;
}

TEST(Contract, HasNoBreakingChange) {
  ASSERT_GE(Accepted().file_size(), 5);
  EXPECT_THAT(BreakingChanges(Accepted(), Now()), IsEmpty())
      << "a program built against the last accepted contract would break; keep the old field, or reserve its number "
         "and name";
}

TEST(Contract, AdditionsAreAccepted) {
  EXPECT_THAT(BreakingChanges(Now(), Accepted()), IsEmpty())
      << "the contract has additions; review the list above, then run script/dev/accept-contract";
}

TEST(Contract, AnAdditionIsNotBreaking) {
  FileDescriptorSet now = Example();
  auto* field = now.mutable_file(0)->mutable_message_type(0)->add_field();
  *field = now.file(0).message_type(0).field(0);
  field->set_name("c");
  field->set_number(3);
  EXPECT_THAT(BreakingChanges(Example(), now), IsEmpty());
}

TEST(Contract, EachKindOfBreakIsNamed) {
  FileDescriptorSet now = Example();
  now.mutable_file(0)->mutable_message_type(0)->mutable_field(0)->set_type(
      google::protobuf::FieldDescriptorProto::TYPE_INT64);
  EXPECT_THAT(BreakingChanges(Example(), now), ElementsAre("M.a changed its type"));

  now = Example();
  now.mutable_file(0)->mutable_message_type(0)->mutable_field()->DeleteSubrange(1, 1);
  EXPECT_THAT(BreakingChanges(Example(), now), ElementsAre("M.b is gone and its number and name are not reserved"));
  auto* range = now.mutable_file(0)->mutable_message_type(0)->add_reserved_range();
  range->set_start(2);
  range->set_end(3);
  now.mutable_file(0)->mutable_message_type(0)->add_reserved_name("b");
  EXPECT_THAT(BreakingChanges(Example(), now), IsEmpty());

  now = Example();
  now.mutable_file(0)->mutable_enum_type(0)->mutable_value(1)->set_number(7);
  EXPECT_THAT(BreakingChanges(Example(), now), ElementsAre("E_ONE is gone or has another number"));

  now = Example();
  now.mutable_file(0)->mutable_service(0)->mutable_method(0)->set_server_streaming(true);
  EXPECT_THAT(BreakingChanges(Example(), now), ElementsAre("S.Call changed its messages or its streaming"));
}

bool HasComment(const google::protobuf::FieldDescriptor& field) {
  google::protobuf::SourceLocation location;
  return field.GetSourceLocation(&location) &&
         !(location.leading_comments.empty() && location.trailing_comments.empty());
}

void ExpectComments(const google::protobuf::Descriptor& message) {
  if (message.options().map_entry()) return;  // the map field itself has the comment
  for (int i = 0; i < message.field_count(); ++i) {
    EXPECT_TRUE(HasComment(*message.field(i))) << message.field(i)->full_name() << " has no comment";
  }
  for (int i = 0; i < message.nested_type_count(); ++i) ExpectComments(*message.nested_type(i));
}

TEST(Contract, EveryFieldHasAComment) {
  DescriptorPool pool;
  const FileDescriptorSet now = Now();
  for (const auto& file : now.file()) {
    const auto* built = pool.BuildFile(file);
    ASSERT_NE(built, nullptr) << file.name();
    for (int i = 0; i < built->message_type_count(); ++i) ExpectComments(*built->message_type(i));
  }
}

}  // namespace
}  // namespace vitrine
