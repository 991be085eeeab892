// SPDX-License-Identifier: Apache-2.0
#include "client/lib/request_window.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/client/lib/small_server.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using nlohmann::json;

std::string CodeName(const absl::Status& status) {
  return absl::StatusCodeToString(status.code());
}

absl::StatusCode CodeOf(const std::string& name) {
  for (int code = 0; code <= 16; ++code) {
    if (absl::StatusCodeToString(static_cast<absl::StatusCode>(code)) == name) {
      return static_cast<absl::StatusCode>(code);
    }
  }
  ADD_FAILURE() << name << " is not the name of a status code";
  return absl::StatusCode::kUnknown;
}

// Passes the events of a scenario to a window. The Python client has the same test.
class Player {
 public:
  explicit Player(const json& scenario)
      : options_{.deadline = absl::Seconds(scenario["deadline"].get<double>()),
                 .max_in_flight = scenario["places"],
                 .retry = {.max_attempts = scenario["attempts"],
                           .initial_backoff = absl::Seconds(2),
                           .max_backoff = absl::Seconds(16)}},
        window_(options_, /*limit=*/nullptr, [] { return 0.0; }) {}

  // Passes one event to the window. Returns its effects in the format of stream_events.json.
  json Play(const json& event) {
    const absl::Time now = absl::UnixEpoch() + absl::Seconds(event["at"].get<double>());
    Happen(event, now);
    json brings = {{"cancel", window_.Expire(now)}, {"send", json::array()}, {"give", json::array()}};
    for (const auto& request : window_.Due(now)) {
      const int index = std::stoi(request->image());
      sent_[index] = *request;
      brings["send"].push_back(index);
      brings["left"].push_back(request->time_limit());
    }
    while (const auto finished = window_.PopFinished()) brings["give"].push_back(CodeName(finished->result.status()));
    brings["lost"] = window_.outcome().ok() ? json() : json(CodeName(window_.outcome()));
    const absl::Time next = window_.NextTimer(now);
    brings["next"] =
        next == absl::InfiniteFuture() ? json("none") : json(absl::ToDoubleSeconds(next - absl::UnixEpoch()));
    return brings;
  }

 private:
  void Happen(const json& event, absl::Time now) {
    for (int i = 0; i < event.value("take", 0); ++i) window_.Take(RequestWith(std::to_string(taken_++)));
    if (const auto refused = event.find("refuse"); refused != event.end()) {
      for (const int index : (*refused)[0]) {
        const auto code = static_cast<grpc::StatusCode>(CodeOf((*refused)[1]));
        window_.Answered(StreamErrorTo(sent_[index], code, "refused", (*refused)[2]), now);
      }
    }
    for (const int index : event.value("answer", json::array())) window_.Answered(StreamAnswerTo(sent_[index]), now);
    if (event.contains("end")) window_.Ended(absl::Status(CodeOf(event["end"]), "the end"), now);
  }

  const ClientOptions options_;
  RequestWindow window_;
  int taken_ = 0;
  std::map<int, v1::ClassifyRequest> sent_;  // last attempt of each request
};

TEST(RequestWindow, BehavesLikeTheScenarios) {
  std::ifstream file(VITRINE_SOURCE "/tests/client/lib/stream_events.json");
  const json scenarios = json::parse(file)["scenarios"];
  ASSERT_GT(scenarios.size(), 10u);
  for (const json& scenario : scenarios) {
    SCOPED_TRACE(scenario["name"].get<std::string>());
    Player player(scenario);
    for (const json& event : scenario["events"]) {
      json expected = {{"cancel", false}, {"send", json::array()}, {"give", json::array()}, {"lost", nullptr}};
      for (const char* key : {"cancel", "send", "give", "lost", "next", "left"}) {
        if (event.contains(key)) expected[key] = event[key];
      }
      json brings = player.Play(event);
      for (const char* key : {"next", "left"}) {
        if (!expected.contains(key)) brings.erase(key);
      }
      EXPECT_EQ(brings, expected) << event;
    }
  }
}

TEST(RequestWindow, AShorterLimitOfTheCallerIsKept) {
  const ClientOptions options{.deadline = absl::Seconds(30)};
  RequestWindow window(options, /*limit=*/nullptr, [] { return 0.0; });
  for (const float limit : {5.0f, 50.0f}) {
    v1::ClassifyRequest request = RequestWith("x");
    request.set_time_limit(limit);
    window.Take(request);
  }
  const auto due = window.Due(absl::UnixEpoch());
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0]->time_limit(), 5);
  EXPECT_EQ(due[1]->time_limit(), 30);
  window.Expire(absl::UnixEpoch() + absl::Seconds(6));
  const auto finished = window.PopFinished();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->result.status().message(), "no answer within 5s");
  EXPECT_FALSE(window.PopFinished().has_value());
}

}  // namespace
}  // namespace vitrine
