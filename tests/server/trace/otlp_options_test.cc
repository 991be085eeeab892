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

TEST(OtlpOptions, ValidatesTheCollectorAddress) {
  EXPECT_TRUE(OtlpOptions().Validate().ok());
  for (const char* endpoint : {"http://127.0.0.1:4318", "http://collector:4318/", "http://[::1]:4318/v1/traces",
                               "https://collector", "https://collector/otlp/v1/traces"}) {
    EXPECT_EQ(FaultOf({.endpoint = endpoint}), "") << endpoint;
  }
  for (const char* endpoint :
       {"collector", "collector:4318", "http://:4318", "http://collector:0", "http://collector:otlp"}) {
    EXPECT_THAT(FaultOf({.endpoint = endpoint}),
                AllOf(HasSubstr("--otlp-endpoint"), HasSubstr(endpoint), HasSubstr("http://127.0.0.1:4318")));
  }
  for (const char* endpoint : {"http://collector:4317", "https://collector:4317/v1/traces"}) {
    EXPECT_THAT(FaultOf({.endpoint = endpoint}), HasSubstr("a collector's port for gRPC")) << endpoint;
  }
}

TEST(OtlpOptions, ThePathDefaultsToTheStandardPath) {
  for (const char* endpoint : {"http://collector:4318", "http://collector:4318/", "http://collector:4318/v1/traces"}) {
    EXPECT_EQ(CollectorUrl(endpoint)->path, "/v1/traces") << endpoint;
  }
  EXPECT_EQ(CollectorUrl("https://collector/otlp/v1/traces")->path, "/otlp/v1/traces");
}

TEST(OtlpOptions, SampleMustBeFromZeroToOne) {
  for (const double sample : {0.0, 0.1, 1.0}) {
    EXPECT_EQ(FaultOf({.endpoint = "http://collector:4318", .sample = sample}), "") << sample;
  }
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

TEST_F(OtlpHeadersTest, ParsesNamesAndValues) {
  const auto headers = Read("# who sends\n\nAuthorization:  Bearer a:b \r\nx-team:vision\n");
  ASSERT_TRUE(headers.ok()) << headers.status();
  EXPECT_THAT(*headers, ElementsAre(Pair("authorization", "Bearer a:b"), Pair("x-team", "vision")));
}

TEST_F(OtlpHeadersTest, TheErrorNamesTheLineWithoutTheSecret) {
  for (const char* line :
       {"secret", "secret name: x", ": secret", "name:", "name: secret\x01", "name: secret\xc3\xa9"}) {
    const auto headers = Read(std::string("a: b\n") + line + "\n");
    EXPECT_TRUE(absl::IsInvalidArgument(headers.status())) << line;
    EXPECT_THAT(std::string(headers.status().message()), AllOf(HasSubstr("line 2"), Not(HasSubstr("secret")))) << line;
  }
}

TEST_F(OtlpHeadersTest, RefusesHeadersThatTheServerSets) {
  for (const char* name :
       {"Host", "content-length", "Content-Type", "transfer-encoding", "connection", "Accept", "user-agent"}) {
    const auto headers = Read(std::string("a: b\n") + name + ": secret\n");
    EXPECT_TRUE(absl::IsInvalidArgument(headers.status())) << name;
    EXPECT_THAT(std::string(headers.status().message()), AllOf(HasSubstr("line 2"), Not(HasSubstr("secret")))) << name;
  }
}

TEST_F(OtlpHeadersTest, RefusesAFileReadableByOtherUsers) {
  using std::filesystem::perms;
  EXPECT_TRUE(absl::IsFailedPrecondition(Read("a: b\n", perms::owner_read | perms::others_read).status()));
}

}  // namespace
}  // namespace vitrine
