// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/gunzip.h"
#include "google/rpc/status.pb.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

TEST(GrpcWire, EncodesErrorMessagesAsTheProtocolRequires) {
  const std::pair<const char*, const char*> table[] = {
      {"", ""},
      {"plain text, with signs: \"~!\"", "plain text, with signs: \"~!\""},
      {"100%", "100%25"},
      {"line\nfeed\ttab", "line%0Afeed%09tab"},
      {"\x7f\x1f", "%7F%1F"},
      {"Bär 💡", "B%C3%A4r %F0%9F%92%A1"},
  };
  for (const auto& [message, encoded] : table) EXPECT_EQ(PercentEncoded(message), encoded);
  EXPECT_LE(PercentEncoded(std::string(100'000, '%')).size(), kMaxGrpcMessageBytes);
}

TEST(GrpcWire, ReadsTimeouts) {
  EXPECT_EQ(ParseGrpcTimeout("1H"), absl::Hours(1));
  EXPECT_EQ(ParseGrpcTimeout("2M"), absl::Minutes(2));
  EXPECT_EQ(ParseGrpcTimeout("03S"), absl::Seconds(3));
  EXPECT_EQ(ParseGrpcTimeout("250m"), absl::Milliseconds(250));
  EXPECT_EQ(ParseGrpcTimeout("7u"), absl::Microseconds(7));
  EXPECT_EQ(ParseGrpcTimeout("99999999n"), absl::Nanoseconds(99'999'999));
  EXPECT_EQ(ParseGrpcTimeout("99999999H"), absl::Hours(99'999'999));
  EXPECT_EQ(ParseGrpcTimeout("0S"), absl::ZeroDuration());
  EXPECT_EQ(ParseGrpcTimeout("100000000S"), absl::InfiniteDuration());
  EXPECT_EQ(ParseGrpcTimeout(std::string(1000, '9') + "n"), absl::InfiniteDuration());
  for (const char* const wrong : {"", "S", "5", "5s", "-1S", "+1S", " 1S", "1 S", "1.5S", "1SS", "0x1S", "1h"}) {
    EXPECT_EQ(ParseGrpcTimeout(wrong), std::nullopt) << wrong;
  }
}

TEST(GrpcWire, RecognizesContentTypes) {
  for (const char* const type : {"application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8",
                                 "Application/GRPC", "application/grpc+proto; charset=utf-8"}) {
    EXPECT_TRUE(IsProtobufType(type)) << type;
  }
  for (const char* const type :
       {"application/grpc-web", "application/grpc-web+proto", "application/grpc+json", "application/grpcx"}) {
    EXPECT_TRUE(IsGrpcType(type)) << type;
    EXPECT_FALSE(IsProtobufType(type)) << type;
  }
  for (const char* const type : {"", "application/json", "text/plain; application/grpc"}) {
    EXPECT_FALSE(IsGrpcType(type)) << type;
  }
}

TEST(GrpcWire, ReadsBinaryMetadataInAllForms) {
  const HttpHead head = {.method = "POST",
                         .path = "/",
                         .query = "",
                         .headers = {{"a-bin", "AA=="}, {"b", "x"}, {"a-bin", "AA,AQI=,AQI"}, {"b", "y,z"}}};
  const auto values = BinaryMetadataOf(head, "a-bin");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre(std::string("\0", 1), std::string("\0", 1), "\x01\x02", "\x01\x02"));
  EXPECT_THAT(MetadataOf(head, "b"), ElementsAre("x", "y,z"));
  EXPECT_EQ(BinaryValue(std::string("\0", 1)), "AA");
  const HttpHead wrong = {.method = "POST", .path = "/", .query = "", .headers = {{"a-bin", "%%"}}};
  EXPECT_TRUE(absl::IsInvalidArgument(BinaryMetadataOf(wrong, "a-bin").status()));
}

TEST(GrpcWire, FramesMessages) {
  google::rpc::Status message;
  EXPECT_EQ(GrpcFrame(message), std::string(5, '\0'));
  message.set_message(std::string(70'000, 'x'));
  const std::string frame = GrpcFrame(message);
  const std::string bytes = message.SerializeAsString();
  EXPECT_EQ(frame.substr(0, 5), (std::string{0, 0, 1, static_cast<char>(bytes.size() >> 8 & 0xff),
                                             static_cast<char>(bytes.size() & 0xff)}));
  EXPECT_EQ(frame.substr(5), bytes);
  const std::string packed = GzipFrame(frame);
  EXPECT_EQ(packed[0], 1);
  EXPECT_LT(packed.size(), 1000u);
  EXPECT_EQ(Gunzip(packed.substr(5), 1 << 20).value_or(""), bytes);
  EXPECT_EQ(GzipFrame(std::string(5, '\0')), std::string(5, '\0')) << "compression would make the message larger";
}

TEST(GrpcWire, FindsAnEncoding) {
  EXPECT_TRUE(HasEncoding("identity, deflate, gzip", "gzip"));
  EXPECT_TRUE(HasEncoding("gzip", "gzip"));
  EXPECT_FALSE(HasEncoding("identity,xgzip", "gzip"));
  EXPECT_FALSE(HasEncoding("", "gzip"));
}

}  // namespace
}  // namespace vitrine
