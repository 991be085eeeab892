// SPDX-License-Identifier: Apache-2.0
#include "server/identity/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/file_size_limit.h"
#include "tests/scratch_folder.h"
#include "tests/server/logged.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine::testing {
namespace {

v1::RollbackModelRequest Request() {
  v1::RollbackModelRequest request;
  request.set_model("eit\n\"mini\"");
  request.set_version(3);
  request.set_reason("Gürtel\x01");
  return request;
}

AuditRecord Record(const v1::RollbackModelRequest& request) {
  return {.caller = "token:ops",
          .peer = "ipv4:127.0.0.1:5",
          .method = "/vitrine.v1.Admin/RollbackModel",
          .arguments = request,
          .outcome = absl::NotFoundError("no \"such\"\nmodel"),
          .took = absl::Milliseconds(1500)};
}

TEST(AuditLog, ALineHasCallerActionAndOutcome) {
  const v1::RollbackModelRequest request = Request();
  const std::string line = AuditLog::Line(Record(request), absl::FromUnixSeconds(1'700'000'000));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(json["caller"], "token:ops");
  EXPECT_EQ(json["method"], "/vitrine.v1.Admin/RollbackModel");
  EXPECT_EQ(json["arguments"]["model"], "eit\n\"mini\"");
  EXPECT_EQ(json["arguments"]["version"], "3");
  EXPECT_EQ(json["code"], "NOT_FOUND");
  EXPECT_EQ(json["message"], "no \"such\"\nmodel");
  EXPECT_EQ(json["seconds"], 1.5);
  EXPECT_EQ(json["phase"], "end");
}

TEST(AuditLog, TheLineOfAStartedActionHasNoOutcome) {
  const v1::RollbackModelRequest request = Request();
  AuditRecord record = Record(request);
  record.outcome.reset();
  const nlohmann::json json = nlohmann::json::parse(AuditLog::Line(record, absl::FromUnixSeconds(1'700'000'000)));
  EXPECT_EQ(json["phase"], "begin");
  EXPECT_EQ(json["caller"], "token:ops");
  EXPECT_EQ(json["arguments"]["version"], "3");
  for (const char* later : {"code", "message", "seconds"}) EXPECT_FALSE(json.contains(later)) << later;
}

// Arguments that are too long are replaced by a string with the beginning of their JSON.
TEST(AuditLog, LongArgumentsAreTruncated) {
  v1::RollbackModelRequest request;
  request.set_model("m");
  const auto arguments = [&](size_t reason) {
    request.set_reason(std::string(reason, 'x'));
    return nlohmann::json::parse(AuditLog::Line(Record(request), absl::UnixEpoch()))["arguments"];
  };
  const size_t around = arguments(1).dump().size() - 1;
  EXPECT_EQ(arguments(4096 - around)["reason"].get<std::string>().size(), 4096 - around);
  const nlohmann::json cut = arguments(4097 - around);
  ASSERT_TRUE(cut.is_string());
  EXPECT_EQ(cut.get<std::string>().size(), 4096u);
  EXPECT_TRUE(cut.get<std::string>().starts_with("{\"model\":\"m\",\"reason\":\"xxx"));
}

TEST(AuditLog, EscapesControlCharactersAndInvalidUtf8) {
  v1::RollbackModelRequest request;
  AuditRecord record = Record(request);
  record.caller = "a\x1f\x20~\x7f\xc3\xbc\xff";
  EXPECT_THAT(AuditLog::Line(record, absl::UnixEpoch()),
              ::testing::HasSubstr(R"("caller":"a\u001f ~\u007f\u00fc\ufffd","peer":)"));
}

// A rejected request may contain an overlong UTF-8 form that protobuf accepts. The record must then have the arguments
// as text.
TEST(AuditLog, InvalidUtf8ArgumentsAreLoggedAsText) {
  v1::RollbackModelRequest request;
  request.set_model("\xc0\xa8");
  const auto line = nlohmann::json::parse(AuditLog::Line(Record(request), absl::UnixEpoch()));
  EXPECT_TRUE(line["arguments"].is_string()) << line;
}

TEST(AuditLog, DurationsAreInMicrosecondsWithoutAFile) {
  const v1::RollbackModelRequest request = Request();
  AuditRecord record = Record(request);
  record.took = absl::Microseconds(120);
  const std::string line = Logged("info", "json", [&] { (*AuditLog::Open(""))->Write(record); });
  EXPECT_EQ(nlohmann::json::parse(line)["seconds"], 0.00012) << line;
}

TEST(AuditLog, AppendsAndReopensARotatedFile) {
  const ScratchFolder folder;
  folder.Write("audit", "before\n");
  const auto log = AuditLog::Open(folder.Path("audit"));
  ASSERT_TRUE(log.ok()) << log.status();
  const v1::RollbackModelRequest request = Request();
  (*log)->Write(Record(request));
  EXPECT_TRUE(folder.Read("audit").starts_with("before\n{"));
  std::filesystem::rename(folder.Path("audit"), folder.Path("audit.1"));
  (*log)->Write(Record(request));
  EXPECT_TRUE(folder.Read("audit").starts_with("{")) << "the new file";
  struct stat made = {};
  ASSERT_EQ(stat(folder.Path("audit").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600u);
}

TEST(AuditLog, APartialLineOnAFullDiskIsRemoved) {
  const ScratchFolder folder;
  const auto log = AuditLog::Open(folder.Path("audit"));
  ASSERT_TRUE(log.ok()) << log.status();
  const v1::RollbackModelRequest request = Request();
  (*log)->Write(Record(request));
  const std::string first = folder.Read("audit");
  {
    const FileSizeLimit full(first.size() + 20);
    (*log)->Write(Record(request));
  }
  EXPECT_EQ(folder.Read("audit"), first);
  (*log)->Write(Record(request));
  const std::string both = folder.Read("audit");
  ASSERT_TRUE(both.starts_with(first));
  EXPECT_TRUE(nlohmann::json::accept(both.substr(first.size())));
}

TEST(AuditLog, AFileThatCannotBeOpenedIsRefused) {
  const ScratchFolder folder;
  EXPECT_FALSE(AuditLog::Open(folder.Path("no/where")).ok());
}

}  // namespace
}  // namespace vitrine::testing
