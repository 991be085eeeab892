// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// Returns bytes whose base64 text has every digit.
std::string EveryByte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string Base64Refusal(const std::string& text) {
  const auto read = ReadBase64(text);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(read.status().message());
}

TEST(Base64, IsReadInAllCommonForms) {
  for (size_t size = 0; size <= 256; ++size) {
    const std::string bytes = EveryByte().substr(256 - size);
    const std::string text = absl::Base64Escape(bytes);
    std::string lines;  // lines of 76 characters with Windows line ends, as in MIME
    for (size_t i = 0; i < text.size(); i += 76) lines += text.substr(i, 76) + "\r\n";
    std::string escaped;
    for (const char c : text) escaped += c == '+' ? "%2B" : c == '/' ? "%2f" : c == '=' ? "%3D" : std::string(1, c);
    for (const std::string& form :
         {text, absl::WebSafeBase64Escape(bytes), text.substr(0, text.find('=')), lines, " \n" + text,
          "data:image/png;base64," + text, "DATA:image/jpeg;name=\"a\";Base64," + lines, " data:;base64," + text,
          "data:image/webp;base64," + escaped}) {
      const auto read = ReadBase64(form);
      ASSERT_TRUE(read.ok()) << form << ": " << read.status();
      EXPECT_EQ(*read, bytes) << form;
    }
  }
}

TEST(Base64, ErrorsNameTheInvalidByte) {
  EXPECT_THAT(Base64Refusal("QUJD!UJD"), HasSubstr("byte 4 is 0x21"));
  EXPECT_THAT(Base64Refusal("QQ==QQ=="), HasSubstr("more data follows the padding at byte 4"));
  EXPECT_THAT(Base64Refusal("QUJDR"), HasSubstr("truncated base64: 5 characters"));
  EXPECT_THAT(Base64Refusal("data:image/png,QUJD"), HasSubstr("data URL that is not base64"));
  EXPECT_THAT(Base64Refusal("data:image/png;base64"), HasSubstr("data URL that is not base64"));
  EXPECT_THAT(Base64Refusal("data:;base64,%"), HasSubstr("byte 0 is 0x25"));
  EXPECT_THAT(Base64Refusal("data:;base64,QQ%3"), HasSubstr("byte 2 is 0x25"));
}

}  // namespace
}  // namespace vitrine
