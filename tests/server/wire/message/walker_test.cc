// SPDX-License-Identifier: Apache-2.0
// Compares MessageWalker with protobuf's parser on valid and mutated messages.
#include "server/wire/message/walker.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/server/received_messages.h"

namespace vitrine {
namespace {

using inference::ModelInferRequest;
using v1::ClassifyRequest;

std::string Bytes(std::initializer_list<int> bytes) {
  return std::string(bytes.begin(), bytes.end());
}

// Returns true if the walker accepts the message.
bool Walks(std::string_view message) {
  MessageWalker walker(message);
  while (walker.Next().has_value()) {
  }
  return !walker.is_malformed();
}

bool Parses(const std::string& message) {
  ClassifyRequest request;
  return request.ParseFromString(message);
}

std::string Groups(int depth) {
  return std::string(static_cast<size_t>(depth), '\x7b') + std::string(static_cast<size_t>(depth), '\x7c');
}

TEST(MessageWalker, ReturnsTheBytesOfEachField) {
  ClassifyRequest request;
  request.set_model("m");
  request.set_image("picture");
  request.set_time_limit(2);
  const std::string message = request.SerializeAsString();
  MessageWalker walker(message);
  const std::optional<WireField> model = walker.Next(), image = walker.Next(), limit = walker.Next();
  ASSERT_TRUE(model.has_value() && image.has_value() && limit.has_value());
  EXPECT_TRUE(model->IsBytes(ClassifyRequest::kModelFieldNumber));
  EXPECT_EQ(model->whole, Bytes({0x0a, 1, 'm'}));
  EXPECT_EQ(model->whole.data(), message.data());
  EXPECT_TRUE(image->IsBytes(ClassifyRequest::kImageFieldNumber));
  EXPECT_EQ(image->value, "picture");
  EXPECT_EQ(limit->type, WireType::kFixed32);
  EXPECT_EQ(limit->whole.size(), 5U);
  EXPECT_FALSE(walker.Next().has_value());
  EXPECT_FALSE(walker.is_malformed());
}

// Tests that the walker accepts the same messages as protobuf's parser, at the limits of the format.
TEST(MessageWalker, AcceptsTheSameMessagesAsProtobuf) {
  std::vector<std::string> messages = {
      "",
      Bytes({0}),                                           // a tag without a field number
      Bytes({1}),                                           // a tag of field 0
      Bytes({0x0a}),                                        // a field without a length
      Bytes({0x0a, 2, 'm'}),                                // a field that is cut
      Bytes({0x0a, 0x81, 0x80, 0x80, 0x80, 0, 'm'}),        // a length of five bytes
      Bytes({0x0a, 0x81, 0x80, 0x80, 0x80, 0x80, 0, 'm'}),  // a length of six bytes
      Bytes({0x0a, 0xff, 0xff, 0xff, 0xff, 0x07, 'm'}),     // a length of two gigabytes
      Bytes({0x0a, 0x81, 0x80, 0x80, 0x80, 0x10, 'm'}),     // a length of more than 32 bits
      Bytes({0x8a, 0x80, 0x80, 0x80, 0, 1, 'm'}),           // a tag of five bytes
      Bytes({0x8a, 0x80, 0x80, 0x80, 0x70, 1, 'm'}),        // a tag of five bytes with too many bits
      Bytes({0x8a, 0x80, 0x80, 0x80, 0x80, 0, 1, 'm'}),     // a tag of six bytes
      Bytes({0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),        // a number of ten bytes
      Bytes({0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),  // a number of eleven bytes
      Bytes({0x11, 1, 2, 3, 4, 5, 6, 7}),                                               // seven of eight bytes
      Bytes({0x75, 1, 2, 3}),                                                           // three of four bytes
      Bytes({0x0c}),  // the end of a group without a beginning
      Bytes({0x0e}),
      Bytes({0x0f}),  // a wire type that does not exist
      Bytes({0x7b, 0x7c}),
      Bytes({0x7b}),
      Bytes({0x7b, 0x74}),
      Bytes({0x7b, 0, 0x7c}),
      Bytes({0x7b, 0x18, 1, 0x7c, 0x0a, 1, 'm'}),  // an unknown group with a field
      Groups(99),
      Groups(100),
      Groups(101),
      Bytes({0x18, 1}),  // an image field with a number, which counts as an unknown field
      Bytes({0x1b, 0x1c}),
  };
  for (const int depth : {98, 99, 100}) {  // puts the groups in a tensor
    const std::string groups = Groups(depth);
    messages.push_back(
        Bytes({0x22, 0x80 | static_cast<int>(groups.size() & 0x7f), static_cast<int>(groups.size() >> 7)}) + groups);
  }
  for (const std::string& message : messages) {
    const std::string shown = ::testing::PrintToString(message);
    EXPECT_EQ(ReadClassify(testing::Received(message)).ok(), Parses(message)) << shown;
    EXPECT_TRUE(!Parses(message) || Walks(message)) << shown;
  }
}

// Expects that ReadClassify returns the same message as protobuf, and that the image is a view of the received bytes.
void ExpectSame(const std::string& message) {
  ClassifyRequest expected;
  const bool parses = expected.ParseFromString(message);
  const MessageBytes bytes = testing::Received(message);
  const absl::StatusOr<ReceivedClassify> read = ReadClassify(bytes);
  ASSERT_EQ(read.ok(), parses) << read.status() << ::testing::PrintToString(message);
  if (!parses) return;
  ASSERT_EQ(read->message.input_case(), expected.input_case()) << ::testing::PrintToString(message);
  ASSERT_EQ(read->owner, bytes);
  ASSERT_EQ(read->input, expected.has_image() ? expected.image() : expected.tensor().data());
  if (!read->input.empty()) {
    ASSERT_GE(read->input.data(), bytes->bytes.data());
    ASSERT_LE(read->input.data() + read->input.size(), bytes->bytes.data() + bytes->bytes.size());
  }
  if (expected.has_image()) expected.set_image("");
  if (expected.has_tensor()) expected.mutable_tensor()->clear_data();
  ASSERT_EQ(read->message.SerializeAsString(), expected.SerializeAsString()) << ::testing::PrintToString(message);
}

// Returns a random request.
ClassifyRequest Drawn(std::mt19937& random) {
  ClassifyRequest request;
  const auto chance = [&] { return random() % 2 == 0; };
  if (chance()) request.set_model("model");
  if (chance()) request.set_request_id(std::string(random() % 20, 'i'));
  if (chance()) request.set_top_k(static_cast<int>(random()));
  if (chance()) request.add_attention()->add_layers(-1);
  if (chance()) {
    request.set_image(std::string(random() % 300, 'p'));
  } else if (chance()) {
    request.mutable_tensor()->set_height(static_cast<int>(random() % 300));
    if (chance()) request.mutable_tensor()->set_data(std::string(random() % 300, 't'));
    if (chance()) request.mutable_tensor()->set_normalized(true);
  }
  return request;
}

// Concatenates messages, which protobuf parses as one message. A later image replaces a tensor, a later tensor replaces
// an image, and tensors are merged.
TEST(ReadClassify, ReadsMergedAndMutatedMessagesLikeProtobuf) {
  const google::protobuf::LogSilencer silence;  // protobuf logs mutated strings that are not UTF-8
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    std::string message;
    for (uint32_t parts = 1 + random() % 4; parts > 0; --parts) message += Drawn(random).SerializeAsString();
    for (uint32_t changes = random() % 4; changes > 0 && !message.empty(); --changes) {
      const size_t at = random() % message.size();
      switch (random() % 4) {
        case 0:
          message[at] = static_cast<char>(random());
          break;
        case 1:
          message.erase(at, 1 + random() % 3);
          break;
        case 2:
          message.insert(at, 1, static_cast<char>(random()));
          break;
        default:
          message.insert(at, message.substr(random() % message.size(), random() % 12));
      }
    }
    ExpectSame(message);
    if (HasFatalFailure()) FAIL() << "message " << i;
  }
}

TEST(ReadInfer, ReadsMutatedMessagesLikeProtobuf) {
  ModelInferRequest whole;
  whole.set_model_name("m");
  whole.set_id("7");
  auto& input = *whole.add_inputs();
  input.set_name("image");
  input.set_datatype("BYTES");
  input.add_shape(1);
  (*input.mutable_parameters())["content_type"].set_string_param("base64");
  input.mutable_contents()->add_bytes_contents("abc");
  whole.add_raw_input_contents("the first");
  whole.add_outputs()->set_name("logits");
  const std::string unspoilt = whole.SerializeAsString();
  const google::protobuf::LogSilencer silence;
  std::mt19937 random(8);
  for (int i = 0; i < 200'000; ++i) {
    std::string message = unspoilt;
    for (uint32_t changes = random() % 4; changes > 0; --changes) {
      const size_t at = random() % message.size();
      if (random() % 3 == 0) {
        message.insert(at, message.substr(random() % message.size(), random() % 12));
      } else {
        message[at] = static_cast<char>(random());
      }
    }
    ModelInferRequest expected;
    const bool parses = expected.ParseFromString(message);
    const absl::StatusOr<ReceivedInfer> read = ReadInfer(testing::Received(message));
    ASSERT_EQ(read.ok(), parses) << read.status() << ::testing::PrintToString(message);
    if (!parses) continue;
    ASSERT_EQ(read->raw.size(), std::min<size_t>(kMostRawContents, expected.raw_input_contents_size()));
    for (size_t j = 0; j < read->raw.size(); ++j)
      ASSERT_EQ(read->raw[j], expected.raw_input_contents(static_cast<int>(j)));
    expected.clear_raw_input_contents();
    ASSERT_EQ(read->message.ByteSizeLong(), expected.ByteSizeLong());
    ASSERT_EQ(read->message.ShortDebugString(), expected.ShortDebugString());
  }
}

}  // namespace
}  // namespace vitrine
