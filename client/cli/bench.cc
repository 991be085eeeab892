// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine bench`.
#include <unistd.h>

#include <iostream>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/load/bench_command.h"
#include "client/load/load_gates.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/command_line/number_check.h"
#include "common/request_size.h"

namespace vitrine {
namespace {

constexpr char kBenchExamples[] = R"(Examples:
  200 requests/s for 10 s, as from independent clients:
    vitrine bench photos/ --model xcit-n12 --rate 200
  16 clients that each wait for their answer:
    vitrine bench photos/ --model xcit-n12 --concurrency 16
  The highest rate with a p99 latency of at most 50 ms, with a report:
    vitrine bench photos/ --model xcit-n12 --find-max --latency p99=50ms --out report/
  Goodput against offered load:
    vitrine bench photos/ --model xcit-n12 --sweep 50:800 --deadline 100ms --out report/
  Interactive and bulk requests together:
    vitrine bench photos/ --rate 300 --mix "model=a,priority=high,deadline=50ms,weight=3; model=b,priority=low"
  The effect of requests for attention maps on others:
    vitrine bench photos/ --rate 100 --mix "name=plain,weight=7; name=maps,attention=class"
  The same load over one stream per connection:
    vitrine bench photos/ --model xcit-n12 --rate 200 --mode stream
  A recorded load:
    vitrine bench --trace yesterday.csv --model xcit-n12
  A gate for CI:
    vitrine bench photos/ --model xcit-n12 --rate 200 --require 'p99<=50ms' --require 'errors<=0.1%'

A gate of --require is a measure, one of >=, >, <=, <, and a bound. Quote it: a shell reads a bare > as a redirection.
  p50, p90, p95, p99, p99.9 (or p999), p99.99   latency of all requests due, as in 50ms; infinite if unanswered
  rate, goodput                                 answers/s, as in 200; answers/s within the deadline
  good, errors, refused                         shares of all requests due, as in 0.01 or 1%: answered within the
                                                deadline; not answered; rejected by the server
With --find-max the gates apply to the highest rate that meets the goal, and rate is that rate.

Exit code: 0 if the measurement succeeded and every gate was met, 1 if not (no server, no answer, no rate that meets
the goal, an unfinished search, a missed gate), 2 for a wrong command line, 130 after Ctrl-C.)";

constexpr int64_t kMostBytes = kMaxRequestBytes - 4096;  // 4096 bytes remain for the other fields

void AddRequests(CLI::App& app, BenchCommand& command) {
  app.add_option("IMAGE", command.request.images,
                 "JPEG, PNG or WebP files and folders, sent unchanged;\ndefault: a generated image of 224x224")
      ->type_name("");
  AddModelOption(app, command.request.model);
  AddResolutionOption(app, command.request.resolution);
  AddParsed(app, "--priority", ParsePriority, command.request.priority, "scheduling priority: low, normal or high",
            "WORD")
      ->default_str("normal");
  const auto add_setting = [&app, &command](const char* flag, const char* field, const char* help, const char* type) {
    app.add_option_function<std::string>(
           flag,
           [field, &command](const std::string& value) { SetClassField(field, value, command.request).IgnoreError(); },
           help)
        ->check([field](const std::string& value) {
          RequestClass scratch;
          return std::string(SetClassField(field, value, scratch).message());
        })
        ->type_name(type);
  };
  add_setting(
      "--attention", "attention",
      "request attention maps: class, mean, rollout, class-attention,\nquery, scores, weights, channels, distance",
      "KIND,...");
  add_setting("--features", "features", "request features: class, mean, patches, registers, projection", "KIND,...");
  add_setting("--top-k", "top_k", "number of predictions in an answer; default: 5", "N");
  app.add_option("--mix", command.mix,
                 "classes of requests: \"model=a,resolution=32x32,\npriority=high,deadline=50ms,weight=3; model=b\";\n"
                 "also images=PATH, attention=KIND,..., features=KIND,...,\ntop_k=N and name=WORD; may be repeated")
      ->allow_extra_args(false)
      ->check(Checked([](const std::string& text) { return ParseMix(text, RequestClass()); }))
      ->type_name("CLASSES");
  app.add_option("--bytes", command.workload.bytes, "pad or cut images to N bytes, for a server that does not decode")
      ->check(CLI::Range(int64_t{1}, kMostBytes).description(""))
      ->type_name("N");
  app.add_flag(
      "--allow-empty", command.load.allow_empty,
      "count answers without predictions as answers: for a model\nwithout classes, or a server that computes nothing");
}

void AddLoad(CLI::App& app, BenchCommand& command) {
  CLI::Option* rate =
      app.add_option("--rate", command.rate, "open loop: requests per second, independent of the answers")
          ->check(NumberFrom(1e-3, 1e7))
          ->type_name("R");
  app.add_option_function<std::string>(
         "--mode",
         [&command](const std::string& word) {
           command.load.mode = word == "stream" ? LoadMode::kStream : LoadMode::kUnary;
         },
         "unary: a call per request; stream: one ClassifyStream per\nconnection, with 64 requests in flight")
      ->check(OneOf({"unary", "stream"}))
      ->type_name("WORD")
      ->default_str("unary");
  app.add_option_function<std::string>(
         "--arrivals",
         [&command](const std::string& word) {
           command.process = word == "constant" ? ArrivalProcess::kConstant : ArrivalProcess::kPoisson;
         },
         "intervals of the open loop: poisson or constant")
      ->check(OneOf({"poisson", "constant"}))
      ->type_name("WORD")
      ->default_str("poisson");
  CLI::Option* concurrency =
      app.add_option("--concurrency", command.load.concurrency, "closed loop: number of requests in flight")
          ->check(CLI::Range(1, 100000).description(""))
          ->excludes(rate)
          ->excludes(app.get_option("--arrivals"))
          ->type_name("N")
          ->capture_default_str();
  app.add_option("--trace", command.trace,
                 "recorded load: CSV or JSON lines with seconds, model, picture,\nresolution, priority, deadline")
      ->excludes(concurrency)
      ->type_name("FILE");
  AddParsed(app, "--sweep", ParseSweepRange, command.sweep,
            "one rate after another: LOW:HIGH, LOW:HIGH:STEP or\nLOW:HIGH:xFACTOR", "RANGE")
      ->excludes(concurrency);
  CLI::Option* find_max =
      app.add_flag("--find-max", command.find_max, "search for the highest rate that meets --latency and --good")
          ->excludes(concurrency);
  AddParsed(app, "--latency", ParseLatencyBounds, command.goal.bounds,
            "bounds of the search: p99=50ms or p50=10ms,p99.9=0.1s", "BOUNDS")
      ->needs(find_max);
  app.add_option("--good", command.goal.least_good, "goal of the search: share of requests answered in time")
      ->check(NumberFrom(0, 1))
      ->needs(find_max)
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--repeats", command.repeats,
                 "number of measurements of the rate that the search finds;\nmost must meet the goal")
      ->check(CLI::Range(1, 20).description(""))
      ->needs(find_max)
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--tolerance", command.tolerance, "resolution of the search, relative to the rate")
      ->check(NumberFrom(0.001, 1))
      ->needs(find_max)
      ->type_name("SHARE")
      ->capture_default_str();
}

// Adds an option for a duration that has no default.
void AddOptionalDuration(CLI::App& app, const std::string& name, std::optional<absl::Duration>& duration, bool zero,
                         const std::string& help) {
  const auto parse = [zero](const std::string& text) -> absl::StatusOr<absl::Duration> {
    absl::Duration parsed;
    if (zero && absl::ParseDuration(text, &parsed) && parsed == absl::ZeroDuration()) return parsed;
    return ParsePositiveDuration(text);
  };
  AddParsed(app, name, parse, duration, help, "TIME");
}

void AddMeasurement(CLI::App& app, BenchCommand& command) {
  AddOptionalDuration(app, "--warmup", command.warm_up, true,
                      "load before the measurement; default: 2s, 0 with --trace");
  AddOptionalDuration(app, "--duration", command.duration, false,
                      "duration of the measurement at each rate; default: 10s,\nwith --trace the whole trace");
  app.add_option("--requests", command.load.max_requests, "measure N requests, not a duration")
      ->check(PositiveNumber())
      ->type_name("N");
  app.add_option("--stability", command.stability, "maximum difference between the windows of a stable run")
      ->check(NumberFrom(0.001, 10))
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--connections", command.connections, "number of connections")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--threads", command.load.threads, "receiving threads; an open loop also has N sending threads")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--max-outstanding", command.load.max_outstanding,
                 "open loop: maximum requests in flight; further ones are\ncounted but not sent")
      ->check(CLI::Range(1, 1000000).description(""))
      ->excludes(app.get_option("--concurrency"))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", command.load.seed, "seed of arrivals and of the mix")->type_name("N")->capture_default_str();
  app.add_option("--server-pid", command.load.server_process, "report the CPU time of this local process")
      ->check(PositiveNumber())
      ->type_name("PID");
  AddRequireOption(
      app, command.gates, LoadGateMeasures(),
      "bound on a measure, as in 'p99<=50ms' (see below); may\nbe repeated. The exit code is 1 if one is missed");
  AddFormatOption(app, command.format);
  app.add_option("--out", command.out, "folder for load.html, load.json, percentiles and seconds")->type_name("DIR");
}

}  // namespace

ClientCommand AddBench(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* bench = app.add_subcommand("bench", "Measure latency and throughput of a server under load.");
  AddRequests(*bench, *command);
  AddLoad(*bench, *command);
  AddMeasurement(*bench, *command);
  AddServerOptions(*bench, command->client);
  // A benchmark counts rejections and does not retry. Its connections are never idle, so they need no keepalive.
  bench->remove_option(bench->get_option("--max-attempts"));
  bench->remove_option(bench->get_option("--keepalive"));
  CLI::Option* deadline =
      bench->get_option("--deadline")
          ->description("time for one request from when it is due; an answer within\nthis time is in time");
  bench->footer(kBenchExamples);
  bench->callback([bench, command] {
    for (const char* flag : {"--arrivals", "--max-outstanding"}) {
      if (bench->count(flag) == 0 || !command->IsClosed()) continue;
      throw CLI::ValidationError(flag, "has no effect in a closed loop; give --rate, --sweep or --find-max as well");
    }
    if (bench->count("--arrivals") > 0 && !command->trace.empty()) {
      throw CLI::ValidationError("--arrivals", "has no effect with --trace, which has its own arrivals");
    }
  });
  return {bench, [command, deadline] {
            command->deadline_given = deadline->count() > 0;
            if (const absl::Status valid = ValidateBench(*command); !valid.ok()) {
              Fail("vitrine", valid);
              return kExitUsage;
            }
            EndInOrder();
            const absl::StatusOr<BenchOutcome> measured =
                RunBench(*command, std::cout, std::cerr, isatty(STDERR_FILENO) == 1, Interrupted);
            if (!measured.ok() && Interrupted()) return InterruptedExitCode();
            if (!measured.ok()) return FailWithHint(measured.status(), command->client);
            if (*measured == BenchOutcome::kInterrupted) return InterruptedExitCode();
            return *measured == BenchOutcome::kMeasured ? kExitSuccess : kExitFailure;
          }};
}

}  // namespace vitrine
