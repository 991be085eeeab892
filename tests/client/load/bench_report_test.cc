// SPDX-License-Identifier: Apache-2.0
// Tests the effect of a command's settings on its requests, its report and its verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/load/bench_command.h"
#include "tests/client/load/bench.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

json ReportOf(const Outcome& outcome) {
  EXPECT_TRUE(outcome.measured.ok()) << outcome.measured.status();
  return outcome.measured.ok() ? json::parse(outcome.out) : json();
}

// Returns the fields of the report that are common to all measured rates and do not differ between runs.
json SettingOf(const BenchCommand& command) {
  json report = ReportOf(Bench(command));
  absl::Time started;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, report["started"].get<std::string>(), &started, nullptr));
  EXPECT_LT(absl::AbsDuration(absl::Now() - started), absl::Minutes(5));
  EXPECT_EQ(report["server"], command.client.address);
  for (const char* told_elsewhere : {"started", "server", "points", "verdict", "best_per_second"}) {
    report.erase(told_elsewhere);
  }
  return report;
}

std::vector<std::string> ClassesOf(const json& point) {
  std::vector<std::string> names;
  for (const json& one : point["classes"]) names.push_back(one["name"]);
  return names;
}

TEST(RunBench, TheReportHasEverySetting) {
  SmallServer server({.classify = Classify});
  const BenchCommand plain = Short(server);
  BenchCommand closed = plain;
  closed.load.concurrency = 3;
  EXPECT_EQ(SettingOf(closed), json({{"loop", "closed loop, 3 at a time"},
                                     {"mode", "unary"},
                                     {"load", "m within 5s, 1 image of 100 bytes"},
                                     {"connections", 2},
                                     {"threads", 1},
                                     {"warm_up_seconds", 0.0},
                                     {"complete", true}}));
  BenchCommand open = plain;
  open.mix = {"model=a;model=b,priority=high", "model=c,deadline=1s"};
  open.rate = 40;
  open.process = ArrivalProcess::kConstant;
  open.connections = 3;
  open.load.threads = 2;
  open.warm_up = absl::Milliseconds(25);
  EXPECT_EQ(SettingOf(open), json({{"loop", "open loop, constant arrivals"},
                                   {"mode", "unary"},
                                   {"load", "3 classes of requests, 1 image of 100 bytes"},
                                   {"connections", 3},
                                   {"threads", 2},
                                   {"warm_up_seconds", 0.025},
                                   {"complete", true}}));
  BenchCommand search = plain;
  search.find_max = true;
  search.sweep = ParseSweepRange("20:20").value();
  search.goal = {.bounds = {{0.5, absl::Seconds(20)}, {0.999, absl::Seconds(30)}}, .least_good = 0.9};
  json told = SettingOf(search);
  EXPECT_EQ(told["best_samples"]["taken"], 3) << "the best rate must be measured three times";
  EXPECT_LE(told["best_samples"]["goodput"][0], told["best_samples"]["goodput"][1]);
  told.erase("best_samples");
  EXPECT_EQ(told, json({{"loop", "open loop, Poisson arrivals"},
                        {"mode", "unary"},
                        {"load", "m within 5s, 1 image of 100 bytes"},
                        {"connections", 2},
                        {"threads", 1},
                        {"warm_up_seconds", 0.0},
                        {"goal", "90 % within their deadline, p50 <= 20s, p99.9 <= 30s"},
                        {"complete", true}}));
  const ScratchFolder folder;
  BenchCommand trace = plain;
  trace.trace = folder.Write("t.csv", "seconds\n0\n").string();
  trace.warm_up.reset();
  EXPECT_EQ(SettingOf(trace)["loop"], "open loop, trace " + trace.trace);
  EXPECT_EQ(SettingOf(trace)["warm_up_seconds"], 0);
  BenchCommand streamed = plain;
  streamed.load.mode = LoadMode::kStream;
  EXPECT_EQ(SettingOf(streamed)["mode"], "stream");
}

TEST(RunBench, ClassesOfEveryMixSendTheirOwnRequests) {
  std::mutex mutex;
  std::set<std::string> asked;
  SmallServer server({.classify = [&](const v1::ClassifyRequest& request, auto* response, auto* context) {
    const std::lock_guard lock(mutex);
    asked.insert(
        absl::StrCat(request.model(), " ", request.image().size(), " ", v1::Priority_Name(request.priority())));
    return Classify(request, response, context);
  }});
  BenchCommand command = Short(server);
  command.mix = {"model=a;model=b,priority=high", "model=c,deadline=1s"};
  command.rate = 100;
  const json point = ReportOf(Bench(command))["points"][0];
  EXPECT_EQ(point["seconds"], 0.05);
  EXPECT_EQ(point["offered_per_second"], 100);
  EXPECT_THAT(ClassesOf(point), ElementsAre("a within 5s", "b high within 5s", "c within 1s"));
  EXPECT_THAT(asked, ElementsAre("a 100 PRIORITY_UNSPECIFIED", "b 100 HIGH", "c 100 PRIORITY_UNSPECIFIED"));
}

TEST(RunBench, ConstantArrivalsAreEvenAndPoissonArrivalsDependOnTheSeed) {
  SmallServer server({.classify = Classify});
  BenchCommand command = Short(server);
  command.rate = 200;
  command.process = ArrivalProcess::kConstant;
  EXPECT_EQ(ReportOf(Bench(command))["points"][0]["due"], 10);
  command.process = ArrivalProcess::kPoisson;
  for (const uint64_t seed : {1, 2, 3}) {
    command.load.seed = seed;
    int due = 0;
    const auto arrivals = ArrivalsAtRate(ArrivalProcess::kPoisson, 200, seed);
    while (arrivals->Next()->due < 50'000'000) ++due;
    EXPECT_EQ(ReportOf(Bench(command))["points"][0]["due"], due);
  }
}

TEST(RunBench, ANumberOfRequestsEndsTheLoad) {
  SmallServer server({.classify = Classify});
  BenchCommand command = Short(server);
  command.load.max_requests = 20;
  command.duration.reset();
  const json report = ReportOf(Bench(command));
  EXPECT_EQ(report["points"][0]["due"], 20);
  EXPECT_EQ(report["points"][0]["answered"], 20);
}

TEST(RunBench, ClassesWithoutAModelUseTheOnlyReadyModel) {
  SmallServer::Methods methods{.classify = Classify};
  v1::ModelVersion& ready = *methods.models.add_versions();
  ready.set_model("only");
  ready.set_version(1);
  ready.set_state(v1::READY);
  SmallServer server(methods);
  BenchCommand command = Short(server);
  command.request.model = {};
  command.mix = {"priority=low;model=m;priority=high"};
  EXPECT_THAT(ClassesOf(ReportOf(Bench(command))["points"][0]),
              ElementsAre("only low within 5s", "m within 5s", "only high within 5s"));
}

// Returns the number of requests to the model "probed": probes before the load, and at most one request of the load.
int Probes(const std::string& mix, const std::function<grpc::Status()>& answer, absl::Status* outcome) {
  std::atomic<int> asked = 0;
  SmallServer server({.classify = [&](const v1::ClassifyRequest& request, auto* response, auto* context) {
    if (request.model() != "probed") return Classify(request, response, context);
    ++asked;
    const grpc::Status status = answer();
    return status.ok() ? Classify(request, response, context) : status;
  }});
  BenchCommand command = Short(server);
  command.mix = {mix};
  command.load.max_requests = command.load.concurrency = 1;
  *outcome = Bench(command).measured.status();
  return asked;
}

TEST(RunBench, APermanentErrorOfAProbeEndsTheRunAndAnOverloadDoesNot) {
  const auto outcome = [](const grpc::Status& answer) {
    absl::Status status;
    Probes(
        "model=probed,weight=1e-9;model=m", [&] { return answer; }, &status);
    return status;
  };
  using enum grpc::StatusCode;
  EXPECT_EQ(outcome(grpc::Status::OK), absl::OkStatus());
  EXPECT_EQ(outcome({DEADLINE_EXCEEDED, "late"}), absl::OkStatus());
  EXPECT_EQ(outcome(WithRetryInfo(RESOURCE_EXHAUSTED, "full", absl::Seconds(1))), absl::OkStatus());
  EXPECT_EQ(outcome({RESOURCE_EXHAUSTED, "too large"}),
            absl::ResourceExhaustedError("the first request (probed within 5s) was refused: too large"));
  EXPECT_EQ(outcome({INVALID_ARGUMENT, "no image"}),
            absl::InvalidArgumentError("the first request (probed within 5s) was refused: no image"));
  EXPECT_EQ(outcome({UNAVAILABLE, "gone"}).code(), absl::StatusCode::kUnavailable);
}

TEST(RunBench, EveryClassIsProbedOnceUpToSixteen) {
  const auto full = [] { return WithRetryInfo(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", absl::Milliseconds(1)); };
  absl::Status status;
  EXPECT_EQ(Probes("model=probed,weight=1e-9;model=probed,weight=1e-9;model=m", full, &status), 1)
      << "each class must be probed once, without a retry";
  const auto wrong = [] { return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such model"); };
  std::string fifteen;
  for (int i = 0; i < 15; ++i) absl::StrAppend(&fifteen, "model=m", i, ";");
  Probes(fifteen + "model=probed,weight=1e-9", wrong, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Probes(fifteen + "model=m;model=probed,weight=1e-9", wrong, &status), 0);
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(RunBench, AnInterruptBeforeTheLoadEndsIt) {
  SmallServer server({.classify = Classify});
  EXPECT_EQ(Bench(Short(server), [] { return true; }).measured.status(),
            absl::CancelledError("interrupted before the load began"));
}

TEST(RunBench, WithoutAnAnswerThereIsNoMeasurement) {
  SmallServer server({.classify = Classify});
  BenchCommand command = Short(server);
  command.request.model.name = "busy";
  EXPECT_EQ(*Bench(command).measured, BenchOutcome::kNothing);

  SmallServer empty({.classify = [](const auto&, auto*, auto*) { return grpc::Status::OK; }});
  command = Short(empty);
  const Outcome rejected = Bench(command);
  EXPECT_EQ(*rejected.measured, BenchOutcome::kNothing);
  EXPECT_THAT(rejected.out, HasSubstr("the answer holds no prediction; --allow-empty counts it as answered"));
  command.load.allow_empty = true;
  EXPECT_EQ(*Bench(command).measured, BenchOutcome::kMeasured);
}

TEST(RunBench, TheLastAnswersAreAwaitedAfterTheLoad) {
  std::atomic<bool> last_is_here = false, all_sent = false;
  SmallServer server(
      {.classify = [&](const v1::ClassifyRequest& request, auto* response, grpc::ServerContext* context) {
        const auto left = context->deadline() - std::chrono::system_clock::now();
        EXPECT_LT(left, std::chrono::seconds(32)) << "the deadline of a probe must be at most 32 s";
        last_is_here = request.model() == "last" && left < std::chrono::seconds(20);
        while (last_is_here && !all_sent && !context->IsCancelled())
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return Classify(request, response, context);
      }});
  const ScratchFolder folder;
  BenchCommand command = Short(server);
  command.trace = folder.Write("t.csv", "seconds,model,deadline\n0,m,\n0.01,last,10s\n").string();
  command.duration.reset();
  const json point = ReportOf(Bench(command, [&] {
    all_sent = last_is_here.load();
    return false;
  }))["points"][0];
  EXPECT_EQ(point["answered"], 2);
}

TEST(RunBench, TheTextStartsWithTheSettings) {
  SmallServer server({.classify = Classify});
  BenchCommand command = Short(server);
  command.format = Format::kTable;
  command.warm_up = absl::Milliseconds(600);
  EXPECT_THAT(Bench(command).out,
              StartsWith(server.address() + ": closed loop, 16 at a time; m within 5s, 1 image of 100 bytes; "
                                            "unary mode, 2 connections, 1 thread, 0.6 s warm-up\n\ndue  "));
  command.sweep = ParseSweepRange("20:20").value();
  EXPECT_THAT(Bench(command).out, AllOf(HasSubstr("\n\noffered/s"), testing::EndsWith(".\n")));
}

TEST(RunBench, FilesOfASinglePointHaveNoNumber) {
  SmallServer server({.classify = Classify});
  const ScratchFolder folder;
  BenchCommand command = Short(server);
  command.out = folder.Path("deep/report");
  for (const char* earlier : {"latency-02-100.hgrm", "seconds-02-100.csv", "latency-notes.txt"}) {
    folder.Write(absl::StrCat("deep/report/", earlier), "");
  }
  const json printed = ReportOf(Bench(command));
  EXPECT_EQ(json::parse(folder.Read("deep/report/load.json")), printed);
  EXPECT_THAT(folder.Read("deep/report/load.html"), HasSubstr("Load on " + server.address()));
  EXPECT_THAT(folder.Read("deep/report/latency.hgrm"), HasSubstr("#[Max     ="));
  EXPECT_THAT(folder.Read("deep/report/seconds.csv"), StartsWith("second,due,answered"));
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(command.out)) files.insert(entry.path().filename());
  EXPECT_THAT(files, ElementsAre("latency-notes.txt", "latency.hgrm", "load.html", "load.json", "seconds.csv"))
      << "files of an earlier run stand beside those of this one";
}

TEST(RunBench, PrintsTheResultsIfTheFolderCannotBeWritten) {
  SmallServer server({.classify = Classify});
  const ScratchFolder folder;
  BenchCommand command = Short(server);
  command.out = folder.path().string();
  std::filesystem::create_directories(folder.Path("load.json"));  // no file can have this name
  const Outcome ran = Bench(command);
  EXPECT_THAT(std::string(ran.measured.status().message()), HasSubstr("cannot write "));
  EXPECT_TRUE(json::accept(ran.out)) << ran.out;
  command.out = folder.Write("file", "");
  EXPECT_THAT(std::string(Bench(command).measured.status().message()), HasSubstr("cannot make the folder"));
}

TEST(RunBench, ATerminalShowsEachSecondOfTheLoad) {
  SmallServer server({.classify = Classify});
  BenchCommand command = Short(server);
  command.rate = 50;
  command.duration = absl::Milliseconds(1200);
  std::ostringstream out, errors;
  ASSERT_TRUE(RunBench(command, out, errors, /*live=*/true, [] { return false; }).ok());
  EXPECT_THAT(errors.str(), StartsWith("\r\33[K    1 s  "));
  EXPECT_THAT(errors.str(), HasSubstr("/s answered, 0 refused, p50 "));
  EXPECT_THAT(errors.str(), testing::EndsWith("\r\33[K")) << "the progress line must be removed at the end";
}

}  // namespace
}  // namespace vitrine
