// SPDX-License-Identifier: Apache-2.0
// Tests changes by operators under load, through the real Admin service and the real `vitrine models`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/paths.h"
#include "vitrine/v1/admin.grpc.pb.h"

namespace vitrine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;

class AdminTest : public ::testing::Test {
 protected:
  void Publish(int versions) {
    for (int version = static_cast<int>(expected_.size()); version <= versions; ++version) {
      PublishModel(Root(), "mixed", MixedConfig(), version);
      expected_.push_back(LogitsAlone(HashedModel(MixedConfig(), version), image_));
    }
  }
  std::filesystem::path Root() const { return folder_.path() / "repository"; }

  void Start(const std::string& serving = "") {
    ServerOptions options = TestOptions(Root());
    options.admin.listen = absl::StrCat("unix://", folder_.Path("admin"));
    options.admin.audit_log = folder_.Path("audit");
    options.registry.admin_state = folder_.Path("state");
    if (!serving.empty()) {
      std::ofstream(folder_.Path("serving")) << serving;
      options.registry.serving_config = folder_.Path("serving");
    }
    running_.reset();
    running_.emplace(options);
    admin_ =
        v1::Admin::NewStub(grpc::CreateChannel(running_->server().admin_address(), grpc::InsecureChannelCredentials()));
  }

  template <typename Request>
  grpc::Status Make(grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&, v1::ServingChange*),
                    const Request& request) {
    grpc::ClientContext context;
    v1::ServingChange change;
    return ((*admin_).*method)(&context, request, &change);
  }
  grpc::Status Load(int64_t version) {
    v1::LoadModelRequest request;
    request.set_model("mixed");
    request.set_version(version);
    return Make(&v1::Admin::Stub::LoadModel, request);
  }
  grpc::Status RollBack() {
    v1::RollbackModelRequest request;
    request.set_model("mixed");
    return Make(&v1::Admin::Stub::RollbackModel, request);
  }
  grpc::Status Traffic(int64_t version, double percent) {
    v1::SetTrafficRequest request;
    request.set_model("mixed");
    request.add_shares()->set_version(version);
    request.mutable_shares(0)->set_percent(percent);
    return Make(&v1::Admin::Stub::SetTraffic, request);
  }

  v1::ClassifyRequest Request(const std::string& id = "") const {
    v1::ClassifyRequest request = ImageRequest("mixed", image_);
    request.set_request_id(id);
    return request;
  }
  // Returns the version that answered, and expects the logits of this version. Returns 0 if the call failed. Stores the
  // call's status in `status` unless it is null.
  int64_t Answered(const v1::ClassifyRequest& request, grpc::Status* status = nullptr) {
    v1::ClassifyResponse response;
    const grpc::Status got = running_->Classify(request, &response);
    if (status != nullptr) *status = got;
    if (!got.ok()) return 0;
    const int64_t version = response.served_by().version();
    const v1::Prediction& best = response.predictions(0);
    EXPECT_NEAR(best.logit(), expected_[version][best.index()], 1e-4) << "not the answer of version " << version;
    return version;
  }

  // Runs `vitrine WORDS` against the Admin service; returns the exit code and the output.
  std::pair<int, std::string> Vitrine(const std::string& words) {
    const std::string command =
        absl::StrCat("VITRINE_ADMIN=unix:", folder_.Path("admin"), " VITRINE_SERVER=", running_->server().address(),
                     " ", VITRINE_BIN, "/vitrine ", words, " 2>&1");
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 4096> part;
    while (fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
  }

  std::pair<int, std::string> Admin(const std::string& words) { return Vitrine("admin " + words); }

  const ScratchFolder folder_;
  const std::string image_ = NoiseJpeg(32, 24, 3);
  std::vector<std::vector<float>> expected_ = {{}};  // logits by version
  std::optional<RunningServer> running_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

TEST_F(AdminTest, TheAuditLogHasStartAndOutcomeOfEachChange) {
  Publish(2);
  Start();
  ASSERT_TRUE(RollBack().ok());
  EXPECT_FALSE(Load(9).ok());
  EXPECT_EQ(Admin("serving").first, 0);
  std::istringstream lines(folder_.Read("audit"));
  std::vector<std::string> audit;
  for (std::string line; std::getline(lines, line);) audit.push_back(line);
  const auto line = [](const char* phase, const char* method, const char* code) {
    return AllOf(HasSubstr(absl::StrCat("\"phase\":\"", phase, "\"")), HasSubstr(method), HasSubstr(code));
  };
  EXPECT_THAT(audit, ::testing::ElementsAre(line("begin", "RollbackModel", ""), line("end", "RollbackModel", "\"OK\""),
                                            line("begin", "LoadModel", ""), line("end", "LoadModel", "NOT_FOUND"),
                                            line("end", "GetServing", "\"OK\"")));
}

TEST_F(AdminTest, ChangesUnderLoadLoseNoRequest) {
  Publish(3);
  Start();
  std::atomic<bool> stop = false;
  std::atomic<int> sent = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int n = 0; !stop; ++n) {
        v1::ClassifyRequest request = Request(caller == 0 ? "" : absl::StrCat(caller, "-", n));
        if (caller == 1) request.set_version_label("stable");
        grpc::Status status;
        const int64_t version = Answered(request, &status);
        ++sent;
        ASSERT_TRUE(status.ok()) << "a request was lost to a change: " << status.error_message();
        EXPECT_GE(version, 1);
      }
    });
  }
  for (int round = 0; round < 4; ++round) {
    EXPECT_TRUE(RollBack().ok());
    EXPECT_TRUE(Load(3).ok());
    EXPECT_TRUE(Load(2).ok());  // by default, only the newest version stays loaded
    EXPECT_TRUE(Traffic(3, 40).ok());
    v1::SetLabelRequest label;
    label.set_model("mixed");
    label.set_label("stable");
    label.set_version(3);
    EXPECT_TRUE(Make(&v1::Admin::Stub::SetLabel, label).ok());
  }
  const int before = sent;
  EXPECT_TRUE(Eventually([&] { return sent > before + 20; }));
  stop = true;
  for (std::jthread& caller : callers) caller.join();
  const Server::Counts counts = running_->server().Drain();
  EXPECT_EQ(counts.accepted, sent.load());
  EXPECT_EQ(counts.answered, sent.load());
}

TEST_F(AdminTest, CommandsPrintTheResultingState) {
  Publish(3);
  Start();
  auto [code, output] = Admin("load mixed@2");
  EXPECT_EQ(code, 0) << output;
  EXPECT_THAT(output, AllOf(HasSubstr("mixed\n"), HasSubstr("  2          ready")));
  std::tie(code, output) = Admin("traffic mixed 3=20");
  EXPECT_EQ(code, 0) << output;
  EXPECT_THAT(output, AllOf(HasSubstr("20 % of the requests  canary"), HasSubstr("80 % of the requests  stable"),
                            HasSubstr("version 2 got the label stable")));
  EXPECT_EQ(Admin("label mixed@3 blue").first, 0);
  EXPECT_EQ(Vitrine("models show mixed@blue").first, 0);
  EXPECT_EQ(Admin("rollback mixed@3 --reason 'too green'").first, 0);
  std::tie(code, output) = Admin("serving mixed");
  EXPECT_EQ(code, 0) << output;
  EXPECT_THAT(output, AllOf(HasSubstr("put away   version 3: too green"), HasSubstr("changes are kept in: ")));
  const std::string why = "version 3 was put away (by an operator); vitrine admin load mixed@3 loads it again";
  EXPECT_THAT(Vitrine("models show mixed@3"), Pair(1, HasSubstr(why)));
  EXPECT_THAT(Vitrine("models show mixed --format json").second, HasSubstr(why));
  EXPECT_THAT(Vitrine("models --format json").second, HasSubstr(why));
  EXPECT_EQ(Admin("policy mixed latest 2").first, 0);
  EXPECT_THAT(Admin("serving --format json").second, HasSubstr("\"stable_version\":\"2\""));
  EXPECT_EQ(Admin("label mixed stable --clear").first, 0);
  EXPECT_EQ(Admin("reset mixed").first, 0);
  EXPECT_EQ(Answered(Request()), 3);
  EXPECT_EQ(Admin("unload mixed --all").first, 0);
  EXPECT_THAT(Admin("load mixed@9").second, HasSubstr("has no version 9"));
  EXPECT_EQ(Admin("load mixed@9").first, 1);
  EXPECT_EQ(Admin("load mixed").first, 0);
}

}  // namespace
}  // namespace vitrine::testing
