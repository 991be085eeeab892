// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/models_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::ModelEvent Event(const std::string& model, int64_t version, v1::ModelState state, const std::string& reason = "") {
  v1::ModelEvent event;
  event.mutable_version()->set_model(model);
  event.mutable_version()->set_version(version);
  event.mutable_version()->set_state(state);
  event.mutable_version()->set_reason(reason);
  return event;
}

// Returns a server that lists the versions of the first `present` events, sends all events, and then waits until the
// client ends the call.
SmallServer::Methods Telling(const std::vector<v1::ModelEvent>& events, size_t present) {
  SmallServer::Methods methods;
  for (size_t i = 0; i < present; ++i) *methods.models.add_versions() = events[i].version();
  methods.watch = [events](const auto& request, auto* writer, grpc::ServerContext* context) {
    for (const v1::ModelEvent& event : events) {
      if (request.model().empty() || request.model() == event.version().model()) writer->Write(event);
    }
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  return methods;
}

// Returns the lines of `text` without the time at their start.
std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto& line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(std::string(line.substr(sizeof("12:34:56  ") - 1)));
  }
  return lines;
}

// Returns a function for WatchCommand::more. Its call number `lines` returns false, which ends the watch.
std::function<bool()> UpTo(int lines) {
  return [left = lines]() mutable { return --left > 0; };
}

TEST(WatchModels, PrintsTheStateAndThenEachChange) {
  v1::ModelEvent removed = Event("m", 1, v1::RETIRING);
  removed.set_removed(true);
  const SmallServer server(
      Telling({Event("m", 1, v1::READY), Event("m", 2, v1::LOADING), Event("m", 2, v1::READY), Event("m", 2, v1::READY),
               Event("m", 1, v1::RETIRING), removed, Event("n\x1b", 1, v1::FAILED, "weights.safetensors is\nmissing")},
              1));
  std::ostringstream out, errors;
  const WatchCommand command{.client = {.address = server.address()}, .model = {}, .more = UpTo(6)};
  const absl::Status status = WatchModels(command, out, errors);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(Lines(out.str()),
              ElementsAre("m@1  ready", "m@2  loading", "m@2  loading -> ready", "m@1  ready -> retiring",
                          "m@1  retiring -> removed", "n?@1  failed: weights.safetensors is?missing"))
      << "a repeated state must not be printed";
  EXPECT_EQ(errors.str(), "");
}

TEST(WatchModels, ReconnectsToALostServerAndPrintsTheChanges) {
  const std::string address = LastingAddress();
  const auto listen = [&](SmallServer::Methods methods) {
    return std::make_unique<SmallServer>(std::move(methods), 64 << 20, nullptr, address);
  };
  auto server = listen(Telling({Event("m", 1, v1::READY), Event("m", 2, v1::READY)}, 2));
  std::ostringstream out, errors;
  int lines = 0;
  WatchCommand command{.client = {.address = address}, .model = {}};
  command.more = [&] {
    if (++lines == 2) {
      server->Stop();
      server = listen(Telling({Event("m", 2, v1::READY), Event("m", 3, v1::LOADING)}, 1));
    }
    return lines < 4;
  };
  const absl::Status status = WatchModels(command, out, errors);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(Lines(out.str()), ElementsAre("m@1  ready", "m@2  ready", "m@1  ready -> removed", "m@3  loading"));
  EXPECT_THAT(errors.str(), testing::StartsWith("vitrine: the server at " + address + " is unreachable"));
  EXPECT_THAT(errors.str(), HasSubstr("; waiting for it\nvitrine: the server is back\n"));
}

TEST(WatchModels, WritesJsonLinesOfOneModel) {
  const SmallServer server(Telling({Event("other", 1, v1::READY), Event("m", 1, v1::READY)}, 2));
  std::ostringstream out, errors;
  const absl::Status status = WatchModels({.client = {.address = server.address()},
                                           .model = {.name = "m", .version = {}},
                                           .format = Format::kJson,
                                           .more = UpTo(1)},
                                          out, errors);
  EXPECT_TRUE(status.ok()) << status;
  const auto line = nlohmann::json::parse(out.str());
  EXPECT_EQ(line["model"], "m");
  EXPECT_EQ(line["state"], "ready");
  EXPECT_EQ(line["removed"], false);
  EXPECT_THAT(line["time"].get<std::string>(), testing::MatchesRegex("20..-..-..T..:..:......Z"));
}

TEST(WatchModels, SaysThatTheModelDoesNotExistYet) {
  const SmallServer server(Telling(
      {Event("m", 1, v1::READY), Event("m", 2, v1::LOADING), Event("m", 3, v1::LOADING), Event("n", 1, v1::READY)}, 1));
  const auto watch = [&](const ModelChoice& model) {
    std::ostringstream out, errors;
    const absl::Status status =
        WatchModels({.client = {.address = server.address()}, .model = model, .more = UpTo(1)}, out, errors);
    EXPECT_TRUE(status.ok()) << status;
    return std::pair(Lines(out.str()), errors.str());
  };
  EXPECT_EQ(watch({.name = "m", .version = {}}), std::pair(std::vector<std::string>{"m@1  ready"}, std::string()));
  EXPECT_EQ(watch({.name = "m", .version = 2}), std::pair(std::vector<std::string>{"m@2  loading"},
                                                          std::string("vitrine: the server has no m@2 yet; waiting for "
                                                                      "it\n")));
  EXPECT_EQ(watch({.name = "n", .version = {}}).second, "vitrine: the server has no n yet; waiting for it\n");
}

TEST(WatchModels, EndsOnErrorsThatWaitingDoesNotSolve) {
  std::ostringstream out, errors;
  const SmallServer old({});  // an older server without WatchModels
  EXPECT_EQ(WatchModels({.client = {.address = old.address()}, .model = {}}, out, errors).code(),
            absl::StatusCode::kUnimplemented);
  std::string address;
  {
    const SmallServer gone({});
    address = gone.address();
  }
  EXPECT_EQ(WatchModels({.client = {.address = address}, .model = {}}, out, errors).message(),
            "no server answers at " + address);
  EXPECT_EQ(out.str() + errors.str(), "");
}

}  // namespace
}  // namespace vitrine
