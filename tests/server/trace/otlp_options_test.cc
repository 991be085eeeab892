// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string FaultOf(const OtlpOptions& options) {
  return std::string(options.Validate().message());
}

TEST(OtlpOptions, TakesAddressesOfCollectors) {
  EXPECT_TRUE(OtlpOptions().Validate().ok());
  for (const char* endpoint :
       {"127.0.0.1:4317", "collector:4317", "[::1]:4317", "http://collector:4317", "https://collector:4317/"}) {
    EXPECT_EQ(FaultOf({.endpoint = endpoint}), "") << endpoint;
  }
  for (const char* endpoint : {"collector", ":4317", "collector:0", "collector:65536", "collector:otlp",
                               "https://collector", "https://collector:4317/v1/traces"}) {
    EXPECT_THAT(FaultOf({.endpoint = endpoint}), AllOf(HasSubstr("--otlp-endpoint"), HasSubstr("4317"))) << endpoint;
  }
}

TEST(OtlpOptions, SampleIsAShare) {
  for (const double sample : {0.0, 0.1, 1.0}) EXPECT_EQ(FaultOf({.sample = sample}), "") << sample;
  for (const double sample : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(FaultOf({.sample = sample}), AllOf(HasSubstr("--trace-sample"), HasSubstr("0 to 1"))) << sample;
  }
  EXPECT_THAT(FaultOf({.headers = "file"}), HasSubstr("--otlp-endpoint"));
}

class OtlpHeadersTest : public ::testing::Test {
 protected:
  absl::StatusOr<OtlpHeaders> Read(const std::string& text,
                                   std::filesystem::perms mode = std::filesystem::perms::owner_read) {
    const std::filesystem::path file = folder_.Write("headers", text);
    std::filesystem::permissions(file, mode);
    auto headers = ReadOtlpHeaders(file.string());
    std::filesystem::remove(file);
    return headers;
  }

  ScratchFolder folder_;
};

TEST_F(OtlpHeadersTest, AreNamesAndValues) {
  const auto headers = Read("# who sends\n\nAuthorization:  Bearer a:b \r\nx-team:vision\n");
  ASSERT_TRUE(headers.ok()) << headers.status();
  EXPECT_THAT(*headers, ElementsAre(Pair("authorization", "Bearer a:b"), Pair("x-team", "vision")));
}

TEST_F(OtlpHeadersTest, AFaultNamesTheLineAndNotTheSecret) {
  for (const char* line :
       {"secret", "secret name: x", ": secret", "name:", "name: secret\x01", "name: secret\xc3\xa9"}) {
    const auto headers = Read(std::string("a: b\n") + line + "\n");
    EXPECT_TRUE(absl::IsInvalidArgument(headers.status())) << line;
    EXPECT_THAT(std::string(headers.status().message()), AllOf(HasSubstr("line 2"), Not(HasSubstr("secret")))) << line;
  }
}

TEST_F(OtlpHeadersTest, AreForThisUserAlone) {
  using std::filesystem::perms;
  EXPECT_TRUE(absl::IsFailedPrecondition(Read("a: b\n", perms::owner_read | perms::others_read).status()));
}

}  // namespace
}  // namespace vitrine
