// SPDX-License-Identifier: Apache-2.0
// Compares the .proto files with the last accepted contract, and tests that every field has a comment.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/paths.h"
#include "tests/structure/contract_diff.h"

namespace vitrine {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorSet;
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
