// SPDX-License-Identifier: Apache-2.0
#include "server/wire/message/read_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/wire/oip/split_input.h"
#include "tests/server/wire/oip/infer_request.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using v1::ClassifyRequest;

bool Views(std::string_view view, const MessageBytes& bytes) {
  return view.data() >= bytes->bytes.data() && view.data() + view.size() <= bytes->bytes.data() + bytes->bytes.size();
}

std::string Image(const std::string& bytes) {
  ClassifyRequest request;
  request.set_image(bytes);
  return request.SerializeAsString();
}

TEST(ReadClassify, TheErrorForAMalformedMessageNamesItsType) {
  EXPECT_EQ(ReadClassify(testing::Received("\x0a")).status(),
            absl::InvalidArgumentError("the message cannot be parsed as vitrine.v1.ClassifyRequest"));
  EXPECT_EQ(ReadInfer(testing::Received("\x0a")).status(),
            absl::InvalidArgumentError("the message cannot be parsed as inference.ModelInferRequest"));
  EXPECT_FALSE(ReadClassify(testing::Received("\x0a\x01\xff")).ok()) << "the model's name is not UTF-8";
}

// Tests that a message with more than 64 KiB besides its images is rejected. The limit is needed because in memory, a
// field of two bytes, such as an empty attention request, becomes an object of about a hundred bytes.
TEST(ReadClassify, LimitsTheBytesBesidesImages) {
  std::string message = Image(std::string(1'000'000, 'p'));
  for (int i = 0; i < 32 << 10; ++i) message += std::string("\x3a\0", 2);  // an empty attention request
  EXPECT_TRUE(ReadClassify(testing::Received(message)).ok());
  message += std::string("\x3a\0", 2);
  EXPECT_THAT(ReadClassify(testing::Received(message)).status().ToString(), HasSubstr("besides its images"));
  std::string tensors;
  for (int i = 0; i < 33 << 10; ++i) tensors += std::string("\x22\x02\x38\x01", 4) + std::string("\x1a\0", 2);
  EXPECT_FALSE(ReadClassify(testing::Received(tensors)).ok()) << "tensors that are replaced later count too";
}

TEST(ReadInfer, RawContentsAreNotCopied) {
  const auto request = testing::Request("UINT8", {2, 4, 4, 3}, std::string(96, 'x'));
  const MessageBytes bytes = testing::Received(request.SerializeAsString());
  absl::StatusOr<ReceivedInfer> read = ReadInfer(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->raw.size(), 1U);
  EXPECT_TRUE(Views(read->raw[0], bytes));
  EXPECT_EQ(read->message.raw_input_contents_size(), 0);
  const absl::StatusOr<std::vector<ReceivedClassify>> parts = SplitInput(*read);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*parts)[i].input.data(), read->raw[0].data() + i * 48);
    EXPECT_EQ((*parts)[i].input.size(), 48U);
    EXPECT_EQ((*parts)[i].owner, bytes);
  }
}

TEST(ReadInfer, FilesInRawContentsAreNotCopied) {
  const auto request = testing::Request("BYTES", {2}, testing::Element("one") + testing::Element("other"));
  const MessageBytes bytes = testing::Received(request.SerializeAsString());
  absl::StatusOr<ReceivedInfer> read = ReadInfer(bytes);
  const absl::StatusOr<std::vector<ReceivedClassify>> parts = SplitInput(*read);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0].input, "one");
  EXPECT_EQ((*parts)[1].input, "other");
  for (const ReceivedClassify& part : *parts) EXPECT_TRUE(Views(part.input, bytes) && part.message.has_image());
}

TEST(ReadInfer, ParsedValuesCountAsReceivedBytes) {
  inference::ModelInferRequest request;
  request.add_inputs()->mutable_contents()->mutable_uint_contents()->Resize(300'000, 1);
  const std::string message = request.SerializeAsString();
  EXPECT_TRUE(IsSlowInfer(message));
  const auto budget = std::make_shared<ByteBudget>(3'000'000);
  const auto bytes = std::make_shared<ReceivedBytes>(ReceivedBytes{message, BudgetShare(budget)});
  {
    const absl::StatusOr<ReceivedInfer> read = ReadInfer(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(budget->used(), static_cast<int64_t>(read->message.SpaceUsedLong()));
    EXPECT_GE(budget->used(), 4 * 300'000);
    EXPECT_TRUE(absl::IsResourceExhausted(ReadInfer(bytes).status()));
  }
  EXPECT_EQ(budget->used(), 0);
}

TEST(ReadInfer, RawContentsAreNotSlow) {
  EXPECT_FALSE(IsSlowInfer(testing::Request("UINT8", {1, 400, 400, 3}, std::string(480'000, 'x')).SerializeAsString()));
}

TEST(ReadInfer, OnlyValuesMayBeLarge) {
  inference::ModelInferRequest request;
  auto& input = *request.add_inputs();
  for (int i = 0; i < 300'000; ++i) input.mutable_contents()->add_fp32_contents(1);
  input.mutable_contents()->add_bytes_contents(std::string(1'000'000, 'b'));
  EXPECT_TRUE(testing::Received(request).ok()) << testing::Received(request).status();
  inference::ModelInferRequest names = request;
  names.mutable_inputs(0)->set_name(std::string(70'000, 'n'));
  EXPECT_THAT(testing::Received(names).status().ToString(), HasSubstr("besides its images"));
  for (int i = 0; i < 5000; ++i) input.mutable_contents()->add_bytes_contents("");
  EXPECT_THAT(testing::Received(request).status().ToString(), HasSubstr("pieces"));
  inference::ModelInferRequest inputs;
  for (int i = 0; i < 40'000; ++i) inputs.add_inputs();
  EXPECT_THAT(testing::Received(inputs).status().ToString(), HasSubstr("besides its images"));
}

TEST(RequestIdOf, CanBeReadFromADamagedMessage) {
  ClassifyRequest request;
  request.set_request_id("id");
  request.set_image("picture");
  std::string message = request.SerializeAsString();
  EXPECT_EQ(RequestIdOf(message), "id");
  EXPECT_EQ(RequestIdOf(message + "\x0a"), "id");
  EXPECT_EQ(RequestIdOf(""), "");
  inference::ModelInferRequest infer;
  infer.set_id("7");
  EXPECT_EQ(InferIdOf(infer.SerializeAsString() + "\x0a"), "7");
}

TEST(ReceivedOf, MovesTheBytesOut) {
  ClassifyRequest request;
  request.set_image(std::string(1000, 'p'));
  const char* const bytes = request.image().data();
  const ReceivedClassify received = ReceivedOf(std::move(request));
  EXPECT_EQ(received.input.data(), bytes);
  EXPECT_TRUE(received.message.has_image() && received.message.image().empty());
}

}  // namespace
}  // namespace vitrine
