// SPDX-License-Identifier: Apache-2.0
#include "server/pages/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/registry/version/version_status.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

ServerStatus Healthy() {
  ServerStatus status;
  status.now = absl::FromUnixSeconds(1'700'000'000);
  status.started = status.now - absl::Hours(5);
  status.versions = {
      {.model = "xcit", .version = 3, .state = "READY", .traffic_percent = 100, .requests_per_second = 40}};
  status.models = {{.name = "xcit", .requests_per_second = 40}};
  status.executors = {{.busy_ratio = 0.5}, {.busy_ratio = 0.7}};
  return status;
}

std::string Sentence(const ServerStatus& status) {
  const std::vector<Problem> problems = FindProblems(status);
  EXPECT_THAT(problems, SizeIs(1));
  return problems.empty() ? "" : problems[0].sentence;
}

TEST(Status, AHealthyServerHasNoProblems) {
  EXPECT_THAT(FindProblems(Healthy()), IsEmpty());
  EXPECT_EQ(Verdict(Healthy()).severity, Severity::kOk);
  EXPECT_EQ(Verdict(Healthy()).sentence, "Ready: 1 version serves, 40 requests per second; no problems.");
}

TEST(Status, ARejectedVersionIsReportedWithReasonAndReplacement) {
  ServerStatus status = Healthy();
  status.versions.push_back({.model = "xcit", .version = 4, .state = "FAILED", .reason = "weights.safetensors is cut"});
  EXPECT_EQ(Sentence(status), "xcit version 4 was rejected: weights.safetensors is cut; version 3 serves");
  status.versions.front().labels = {"stable"};
  status.versions.insert(status.versions.begin() + 1,
                         ServerStatus::Version{.model = "xcit", .version = 5, .state = "READY"});
  EXPECT_THAT(Sentence(status), HasSubstr("version 3 serves")) << "not the newest, which waits";
  status.versions.back().model = "other";
  EXPECT_THAT(Sentence(status), HasSubstr("no version of this model serves"));
  EXPECT_EQ(Verdict(status).severity, Severity::kDegraded);
}

TEST(Status, TheWorstProblemComesFirst) {
  ServerStatus status = Healthy();
  status.models[0].shed_per_second = 12.5;
  status.not_ready = "every version was refused";
  const Problem verdict = Verdict(status);
  EXPECT_EQ(verdict.severity, Severity::kDown);
  EXPECT_EQ(verdict.sentence, "Unhealthy: requests are not served: every version was refused; and 1 more, below.");
}

TEST(Status, RollbacksAndAnUnreadableRepositoryAreProblems) {
  ServerStatus status = Healthy();
  status.models[0].rollbacks = 1;
  EXPECT_THAT(FindProblems(status), IsEmpty()) << "stable has served ever since";
  status.models[0].rollbacks_per_second = 1.0 / 60;
  EXPECT_THAT(Sentence(status), HasSubstr("a canary of xcit was just taken out of traffic (1 time"));
  status = Healthy();
  status.repository_fault = "repository cannot be read: no such folder";
  EXPECT_THAT(Sentence(status), HasSubstr("the repository cannot be read: no such folder"));
}

TEST(Status, ARejectedSettingsFileIsAProblem) {
  ServerStatus status = Healthy();
  status.rejected_settings = {"--serving-config /etc/serving.textproto: line 1, column 5: no such field"};
  EXPECT_EQ(Sentence(status),
            "a settings file is rejected: --serving-config /etc/serving.textproto: line 1, column 5: no such field; "
            "its previous content stays in effect, and a restart would fail");
  EXPECT_EQ(Verdict(status).severity, Severity::kDegraded);
  status.rejected_settings.emplace_back("--tokens /etc/tokens is larger than 1 MiB");
  EXPECT_THAT(FindProblems(status), SizeIs(2));
}

// Tests each limit with the first value that is a problem and the last value that is no problem.
TEST(Status, ProblemsStartExactlyAtTheirLimits) {
  const auto told = [](const auto& change) {
    ServerStatus status = Healthy();
    change(status);
    return FindProblems(status).size();
  };
  const absl::Duration moment = absl::Nanoseconds(1);
  EXPECT_EQ(told([](ServerStatus& s) { s.executors[0].batch_age = absl::Seconds(10); }), 1u);
  EXPECT_EQ(told([&](ServerStatus& s) { s.executors[0].batch_age = absl::Seconds(10) - moment; }), 0u);
  EXPECT_EQ(told([](ServerStatus& s) { s.queue.oldest = absl::Seconds(1); }), 1u);
  EXPECT_EQ(told([&](ServerStatus& s) { s.queue.oldest = absl::Seconds(1) - moment; }), 0u);
  EXPECT_EQ(told([](ServerStatus& s) { s.executors = {{.busy_ratio = 0.95}}; }), 1u);
  EXPECT_EQ(told([](ServerStatus& s) { s.executors = {{.busy_ratio = 0.949}}; }), 0u);
  const auto shed = [&](double rate, double all) {
    return told([&](ServerStatus& s) {
      s.models[0].shed_per_second = rate;
      s.models[0].requests_per_second = all;
    });
  };
  EXPECT_EQ(shed(0.33, 66), 1u);
  EXPECT_EQ(shed(0.32, 66), 0u) << "less than a two-hundredth";
  EXPECT_EQ(shed(0.0011, 0.0011), 1u);
  EXPECT_EQ(shed(0.001, 0.001), 0u);
  EXPECT_EQ(told([](ServerStatus& s) { s.versions[0].faults_per_second = 0.0011; }), 1u);
  EXPECT_EQ(told([](ServerStatus& s) { s.versions[0].faults_per_second = 0.001; }), 0u);
  const absl::Duration weeks = absl::Hours(14 * 24);
  EXPECT_EQ(told([&](ServerStatus& s) { s.certificates = {{"grpc", s.now + weeks - moment}}; }), 1u);
  EXPECT_EQ(told([&](ServerStatus& s) { s.certificates = {{"grpc", s.now + weeks}}; }), 0u);
  ServerStatus left = Healthy();
  left.certificates = {{"grpc", left.now + moment}};
  EXPECT_EQ(FindProblems(left)[0].severity, Severity::kDegraded) << "it still holds";
}

TEST(Status, SentencesContainTheirNumbers) {
  ServerStatus status = Healthy();
  status.models[0].shed_per_second = 0.25;
  EXPECT_EQ(Sentence(status), "0.25 requests per second to xcit are rejected because of load, of 40 per second");
  status = Healthy();
  status.models[0].rollbacks = 2;
  status.models[0].rollbacks_per_second = 1;
  EXPECT_EQ(Sentence(status), "a canary of xcit was just taken out of traffic (2 times since the start)");
  status = Healthy();
  status.versions[0].faults_per_second = 1234.4;
  EXPECT_EQ(Sentence(status),
            "xcit version 3 failed 1234 requests per second because of server faults, of 40 per second");
  status = Healthy();
  status.executors[0].batch_age = absl::Seconds(12.7);
  EXPECT_EQ(Sentence(status), "executor 0 has been busy with one batch for 12s") << "whole seconds";
  status = Healthy();
  status.executors = {{.busy_ratio = 0.96}};
  EXPECT_EQ(Sentence(status), "the executors are 96 % busy; more load is rejected or waits");
  status = Healthy();
  status.queue.oldest = absl::Milliseconds(2345);
  EXPECT_EQ(Sentence(status), "the oldest of 0 waiting requests has waited for 2.3s");
  status.executors[0].batch_age = status.executors[1].batch_age = absl::Minutes(1);
  EXPECT_EQ(Verdict(status).sentence, "Ready, but executor 0 has been busy with one batch for 1m; and 2 more, below.");
}

TEST(Status, NamesTheNewestServingVersionAsReplacement) {
  ServerStatus status = Healthy();
  status.versions.push_back({.model = "xcit", .version = 2, .state = "READY"});
  status.versions.push_back({.model = "xcit", .version = 5, .state = "RETIRING"});
  status.versions.push_back({.model = "xcit", .version = 4, .state = "FAILED", .reason = "cut"});
  EXPECT_EQ(Sentence(status), "xcit version 4 was rejected: cut; version 3 serves");
  status.versions.back().version = kWholeModel;
  EXPECT_THAT(FindProblems(status), IsEmpty()) << "the repository's fault, which is told as that";
  status.versions.pop_back();
  EXPECT_EQ(Verdict(status).sentence, "Ready: 2 versions serve, 40 requests per second; no problems.");
}

TEST(Status, ACertificateIsAProblemTwoWeeksBeforeItsEnd) {
  ServerStatus status = Healthy();
  status.certificates = {{"grpc", status.now + absl::Hours(24 * 15)}};
  EXPECT_THAT(FindProblems(status), IsEmpty());
  status.certificates[0].second = status.now + absl::Hours(24 * 13);
  EXPECT_THAT(Sentence(status),
              AllOf(HasSubstr("grpc"), HasSubstr("or a CA of --tls-client-ca, expires at 2023-11-27 22:13 UTC")));
  EXPECT_EQ(Verdict(status).severity, Severity::kDegraded);
  status.certificates[0].second = status.now;
  EXPECT_THAT(Sentence(status), HasSubstr("expired at"));
  EXPECT_EQ(Verdict(status).severity, Severity::kDown);
}

TEST(Status, AnEmptyServerHasNoProblems) {
  ServerStatus status;
  EXPECT_THAT(FindProblems(status), IsEmpty());
  EXPECT_THAT(Verdict(status).sentence, StartsWith("Ready: 0 versions serve"));
}

TEST(ShownTo, ACallerSeesOnlyPermittedModelsAndNoOperatorData) {
  ServerStatus status;
  status.repository_fault = "/srv/models cannot be read";
  status.rejected_settings = {"--tokens /etc/tokens: line 1 does not have two words"};
  status.models = {{.name = "a-1"}, {.name = "b-1"}};
  status.versions = {{.model = "a-1", .version = 1}, {.model = "b-1", .version = 1}};
  status.log = {{absl::UnixEpoch(), spdlog::level::err, "a line"}};
  status.flags = {{"--tokens", "/etc/tokens"}};
  status.certificates = {{"rpc", absl::UnixEpoch()}};
  status.connections = {{.listener = "grpc", .state = {.peer = "ipv4:10.0.0.7:41922", .protocol = "h2", .age = {}}}};
  const ServerStatus some =
      ShownTo({.models = std::make_shared<ModelPatterns>(std::vector<std::string>{"b-*"})}, status);
  ASSERT_EQ(some.models.size(), 1u);
  EXPECT_EQ(some.models[0].name, "b-1");
  ASSERT_EQ(some.versions.size(), 1u);
  EXPECT_EQ(some.versions[0].model, "b-1");
  EXPECT_EQ(some.repository_fault, "");
  EXPECT_THAT(some.rejected_settings, IsEmpty());
  EXPECT_TRUE(some.log.empty() && some.flags.empty() && some.certificates.empty() && some.connections.empty());
  const ServerStatus all = ShownTo({}, status);
  EXPECT_EQ(all.models.size(), 2u);
  EXPECT_EQ(all.repository_fault, "/srv/models cannot be read");
  EXPECT_THAT(all.rejected_settings, IsEmpty()) << "paths and contents of the operator's files";
  EXPECT_TRUE(all.log.empty() && all.flags.empty() && all.certificates.empty() && all.connections.empty());
}

}  // namespace
}  // namespace vitrine
