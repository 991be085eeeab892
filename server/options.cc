// SPDX-License-Identifier: Apache-2.0
#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/http/network/network.h"
#include "server/observe/log.h"
#include "server/wire/http/cors.h"

namespace vitrine {
namespace {

constexpr absl::string_view kLogLevels[] = {"trace", "debug", "info", "warning", "error", "off"};

// Collects a message for every faulty setting.
class Faults {
 public:
  template <typename T>
  void InRange(absl::string_view flag, T value, T low, T high) {
    if (value < low || value > high) {
      Add(absl::StrCat(flag, " is ", Text(value), "; it must be ", Text(low), " to ", Text(high)));
    }
  }
  void Add(std::string sentence) { sentences_.push_back(std::move(sentence)); }
  void Add(const absl::Status& status) {
    if (!status.ok()) Add(std::string(status.message()));
  }

  absl::Status ToStatus() const {
    return sentences_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(sentences_, "\n"));
  }

 private:
  static std::string Text(absl::Duration value) { return absl::FormatDuration(value); }
  static std::string Text(int64_t value) { return absl::StrCat(value); }

  std::vector<std::string> sentences_;
};

void CheckAddress(absl::string_view flag, absl::string_view address, Faults& faults) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    faults.Add(absl::StrCat(flag, " is \"", address,
                            "\"; it must be host:port with a port of 0 to 65535, for instance ", "127.0.0.1:8500"));
  } else if (address.substr(0, colon) == "*") {
    faults.Add(absl::StrCat(flag, " is \"", address, "\"; write 0.0.0.0 for every IPv4 address, or [::] for IPv6 too"));
  }
}

void CheckSocket(absl::string_view flag, absl::string_view address, Faults& faults) {
  if (absl::StartsWith(address, "unix:")) return;
  faults.Add(
      absl::StrCat(flag, " is \"", address, "\"; it must be unix:///PATH, for instance unix:///run/vitrine.sock"));
}

void CheckTransport(const TransportOptions& transport, Faults& faults) {
  faults.InRange<int64_t>("--max-message-bytes", transport.max_message_bytes, 1024, int64_t{1} << 30);
  faults.InRange<int64_t>("--max-transport-bytes", transport.max_transport_bytes, 2 * transport.max_message_bytes,
                          int64_t{1} << 40);
  faults.InRange<int64_t>("--max-metadata-bytes", transport.max_metadata_bytes, 1024, int64_t{1} << 20);
  faults.InRange<int64_t>("--max-concurrent-streams", transport.max_concurrent_streams, 1, 1 << 20);
  faults.InRange("--max-connection-age", transport.max_connection_age, absl::Seconds(1), absl::InfiniteDuration());
  faults.InRange("--connection-age-grace", transport.connection_age_grace, absl::ZeroDuration(),
                 absl::InfiniteDuration());
  faults.InRange("--max-connection-idle", transport.max_connection_idle, absl::Seconds(1), absl::InfiniteDuration());
  faults.InRange("--keepalive-time", transport.keepalive_time, absl::Seconds(1), absl::InfiniteDuration());
  faults.InRange("--keepalive-timeout", transport.keepalive_timeout, absl::Seconds(1), absl::Hours(1));
  faults.InRange("--min-ping-interval", transport.min_ping_interval, absl::ZeroDuration(), absl::Hours(1));
}

// Sets the limit of frames that one connection may send per second; bursts and limits per address scale with it.
void SetResetLimit(int64_t points, HttpAbuseLimits& abuse) {
  const HttpAbuseLimits defaults;
  const double scale = static_cast<double>(points) / defaults.connection_rate;
  abuse.connection_rate = static_cast<double>(points);
  abuse.connection_burst = defaults.connection_burst * scale;
  abuse.address_rate = defaults.address_rate * scale;
  abuse.address_burst = defaults.address_burst * scale;
}

void CheckAbuse(const ServerOptions& options, Faults& faults) {
  faults.InRange<int64_t>("--reset-limit", std::llround(options.abuse.connection_rate), 100, 100'000'000);
  faults.InRange<int64_t>("--max-connections-per-address", options.abuse.connections, 0, 1 << 20);
  for (const std::string& proxies : options.trusted_proxies) {
    if (const absl::Status network = Network::Parse(proxies).status(); !network.ok()) {
      faults.Add(absl::StrCat("--trusted-proxies: ", std::string(network.message())));
    }
  }
}

// Adds a duration flag in Abseil's format: 250ms, 1.5s, 10m, inf.
void AddDuration(CLI::App& app, const std::string& flag, absl::Duration& value, const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&value, flag](const std::string& text) {
           if (!absl::ParseDuration(text, &value)) {
             throw CLI::ValidationError(flag, "\"" + text + "\" is not a duration; write 250ms, 1.5s, 10m or inf");
           }
         },
         help)
      ->default_str(absl::FormatDuration(value))
      ->type_name("DURATION");
}

template <typename T>
void Add(CLI::App& app, const std::string& flag, T& value, const std::string& help, const std::string& type) {
  app.add_option(flag, value, help)->capture_default_str()->type_name(type);
}

// Adds a flag for a memory budget: if the flag is not given, the budget is limited to its share of the machine's
// memory.
CLI::Option* AddBudget(CLI::App& app, ServerOptions& options, const std::string& flag, int64_t& value,
                       const std::string& help) {
  return app.add_option(flag, value, help)
      ->capture_default_str()
      ->type_name("BYTES")
      ->each([&options, flag](const std::string&) { options.chosen.insert(flag); });
}

void BindTransport(CLI::App& app, TransportOptions& transport) {
  Add(app, "--max-metadata-bytes", transport.max_metadata_bytes,
      "most bytes of the head of a request: names, values and 32 for each header", "BYTES");
  Add(app, "--max-concurrent-streams", transport.max_concurrent_streams, "most calls at once on a connection", "N");
  AddDuration(app, "--max-connection-age", transport.max_connection_age, "age at which a connection is asked to go");
  AddDuration(app, "--connection-age-grace", transport.connection_age_grace, "longest that its calls go on then");
  AddDuration(app, "--max-connection-idle", transport.max_connection_idle,
              "a connection without requests is closed then; longer than a balancer in front keeps one");
  AddDuration(app, "--keepalive-time", transport.keepalive_time, "how often a silent connection is pinged");
  AddDuration(app, "--keepalive-timeout", transport.keepalive_timeout, "longest wait for the answer to a ping");
  AddDuration(app, "--min-ping-interval", transport.min_ping_interval,
              "a client that pings more often, less a tenth, is sent away");
}

// Adds a flag with a comma-separated list.
CLI::Option* AddList(CLI::App& app, const std::string& flag, std::vector<std::string>& values, const std::string& help,
                     const std::string& type) {
  return app.add_option(flag, values, help)
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->type_name(type)
      ->default_str(absl::StrJoin(values, ","));
}

void BindAbuse(CLI::App& app, ServerOptions& options) {
  HttpAbuseLimits& abuse = options.abuse;
  AddList(app, "--trusted-proxies", options.trusted_proxies,
          "networks of proxies in front, with commas between them, as in 10.0.0.0/8: they may begin connections with a "
          "header of the PROXY protocol, version 2, and no limit of an address counts theirs",
          "CIDR,...");
  Add(app, "--max-connections-per-address", abuse.connections,
      "most open connections of one IPv4 address or IPv6 /64 network; 0: no limit", "N");
  app.add_option_function<int64_t>(
         "--reset-limit", [&abuse](const int64_t& points) { SetResetLimit(points, abuse); },
         "resets, pings, settings and other frames without work that a connection may send a second, twice as many "
         "from one address; who sends more is sent away")
      ->default_str(absl::StrCat(std::llround(abuse.connection_rate)))
      ->type_name("N");
}

void BindTracing(CLI::App& app, OtlpOptions& tracing) {
  Add(app, "--otlp-endpoint", tracing.endpoint,
      "where an OpenTelemetry collector takes spans by OTLP over HTTP: http://HOST:4318[/v1/traces], or https:// for "
      "TLS; empty: none",
      "URL");
  Add(app, "--trace-sample", tracing.sample,
      "share of the requests without a traceparent that are traced, 0 to 1; of the others the caller decides",
      "FRACTION");
  Add(app, "--otlp-headers", tracing.headers,
      "headers for the collector, NAME: VALUE a line, not readable by every user", "FILE");
}

void BindIdentity(CLI::App& app, ServerOptions& options) {
  IdentityOptions& identity = options.identity;
  Add(app, "--tls-cert", identity.tls.certificate,
      "TLS; the server's certificate chain in PEM, read again when changed", "FILE");
  Add(app, "--tls-key", identity.tls.key, "its key, not readable by every user", "FILE");
  Add(app, "--tls-client-ca", identity.tls.client_ca, "authorities whose client certificates are believed", "FILE");
  app.add_option_function<std::string>(
         "--tls-client-cert",
         [&identity](const std::string& word) { identity.tls.client_certificate_optional = word == "optional"; },
         "with --tls-client-ca: required, or optional where a token may come instead")
      ->check(CLI::IsMember({"required", "optional"}).description(""))
      ->type_name("WORD")
      ->default_str("required");
  Add(app, "--tokens", identity.tokens, "bearer tokens, made by `vitrine token new`; read again when changed", "FILE");
  app.add_flag("--plaintext-tokens", identity.plaintext_tokens,
               "take tokens without TLS from the network too, where something in front encrypts");
  Add(app, "--policy", identity.policy,
      "who may call what, textproto of vitrine.v1.AccessPolicy; read again when changed", "FILE");
  Add(app, "--admin", options.admin.listen,
      "address of the Admin service, HOST:PORT or unix:///PATH; empty: there is none", "ADDRESS");
  Add(app, "--audit-log", options.admin.audit_log, "file that admin actions are appended to; empty: the log", "FILE");
  Add(app, "--health-listen", options.health_listen,
      "address of a plaintext listener for health probes alone; empty: none", "HOST:PORT");
}

}  // namespace

absl::Status ServerOptions::Validate() const {
  Faults faults;
  std::error_code ignored;
  if (repository.empty()) {
    faults.Add("--repository is missing; name the folder that holds <model>/<version>/");
  } else if (!std::filesystem::is_directory(repository, ignored)) {
    faults.Add(absl::StrCat("--repository is \"", repository, "\", which is not a folder that can be read"));
  }
  CheckAddress("--listen", rpc.listen, faults);
  if (!rpc.socket.empty()) CheckSocket("--socket", rpc.socket, faults);
  if (!metrics.empty()) CheckAddress("--metrics", metrics, faults);
  if (!admin.listen.empty() && !absl::StartsWith(admin.listen, "unix:")) CheckAddress("--admin", admin.listen, faults);
  if (!admin.audit_log.empty() && admin.listen.empty()) faults.Add("--audit-log needs --admin");
  if (!health_listen.empty()) CheckAddress("--health-listen", health_listen, faults);
  if (!http.empty()) CheckAddress("--http", http, faults);
  if (page && !serves_http()) {
    faults.Add("--page needs HTTP, which --listen-grpc-only keeps from --listen; leave it out, or give --http");
  }
  if (page_burst && !page) faults.Add("--page-burst needs --page, which offers it");
  if (!page_samples.empty() && !page) faults.Add("--page-samples needs --page, which offers them");
  faults.Add(CrossOrigin::Validate(http_cors_origins));
  if (!http_cors_origins.empty() && !serves_http()) {
    faults.Add(
        "--http-cors-origin needs HTTP, which --listen-grpc-only keeps from --listen; leave it out, or give --http");
  }
  if (!http.empty() && identity.takes_credentials() && !identity.tls.enabled() && !identity.plaintext_tokens &&
      !IsLocalAddress(http)) {
    faults.Add(absl::StrCat("--http is ", http,
                            ", which the network reaches without TLS, where whoever listens may use "
                            "the tokens; give --tls-cert and --tls-key, name 127.0.0.1, or set --plaintext-tokens "
                            "where something in front encrypts"));
  }
  faults.Add(identity.Validate(rpc.listen, admin.listen));
  faults.Add(ParseDevice(device).status());
  faults.Add(batch.Validate());
  faults.Add(admission.Validate());
  faults.Add(executor.Validate());
  faults.Add(probe.Validate());
  if (pin != "auto" && pin != "on" && pin != "off") {
    faults.Add(absl::StrCat("--pin is \"", pin, "\"; it must be auto, on or off"));
  }
  if (!repository.empty()) {
    RegistryOptions followed = registry;
    followed.root = repository;
    faults.Add(followed.Validate());
  }
  faults.InRange<int64_t>("--queues", rpc.queues, 0, 256);
  CheckTransport(rpc, faults);
  CheckAbuse(*this, faults);
  faults.InRange("--lame-duck", lame_duck, absl::ZeroDuration(), absl::Hours(1));
  faults.InRange("--hung-worker-timeout", hung_worker_timeout, absl::Milliseconds(1), absl::InfiniteDuration());
  faults.InRange("--drain-deadline", drain_deadline, absl::ZeroDuration(), absl::Hours(1));
  if (std::find(std::begin(kLogLevels), std::end(kLogLevels), log_level) == std::end(kLogLevels)) {
    faults.Add(absl::StrCat("--log-level is \"", log_level, "\"; it must be one of ", absl::StrJoin(kLogLevels, ", ")));
  }
  if (!IsLogFormat(log_format)) {
    faults.Add(absl::StrCat("--log-format is \"", log_format, "\"; it must be text or json"));
  }
  faults.Add(request_log.Validate());
  faults.Add(tracing.Validate());
  return faults.ToStatus();
}

void BindFlags(CLI::App& app, ServerOptions& options) {
  Add(app, "--repository", options.repository, "folder that holds <model>/<version>/", "DIR");
  app.add_flag("--allow-empty", options.allow_empty, "be ready without any model, as a server that waits for its first")
      ->default_str(options.allow_empty ? "true" : "false");
  Add(app, "--listen", options.rpc.listen,
      "address of gRPC, images (/v1), the Open Inference Protocol (/v2) and the page; port 0 picks a free one",
      "HOST:PORT");
  app.add_flag("--listen-grpc-only", options.listen_grpc_only,
               "serve gRPC alone on --listen and --socket; HTTP where --http says")
      ->default_str(options.listen_grpc_only ? "true" : "false");
  Add(app, "--socket", options.rpc.socket,
      "unix:///PATH of a socket that takes the same as --listen, for this user and root alone; empty: none", "ADDRESS");
  Add(app, "--metrics", options.metrics, "address of /metrics, /healthz, /readyz and /statusz; empty turns them off",
      "HOST:PORT");
  Add(app, "--http", options.http, "address of a second listener with all of --listen but gRPC; empty: there is none",
      "HOST:PORT");
  AddList(app, "--http-cors-origin", options.http_cors_origins,
          "origins of pages that may read answers in a browser, with commas between them", "ORIGIN,...");
  app.add_flag("--page", options.page, "a page for people at / of --listen and --http")
      ->default_str(options.page ? "true" : "false");
  app.add_flag(
         "--page-burst", options.page_burst,
         "let visitors of the page send 200 requests at once, to see what load does; for pages that are not public")
      ->default_str(options.page_burst ? "true" : "false");
  Add(app, "--page-samples", options.page_samples,
      "folder with folders of JPEG, PNG or WebP images that the page offers as samples; empty: none", "DIR");
  Add(app, "--port-file", options.port_file, "file to write the bound addresses to", "FILE");
  Add(app, "--device", options.device, "cpu or cuda:N", "DEVICE");
  Add(app, "--precision", options.registry.precision,
      "what models are computed in unless --serving-config says otherwise: fp32, bf16 or int8. Versions whose manifest "
      "has no plan for it (vitrine-repo quantize) are refused",
      "NAME");
  AddList(app, "--refuse-licence", options.registry.refused_licences,
          "do not load versions whose licence fits one of these, in any case, as in 'cc-by-nc*,gpl*'; none: versions "
          "that state no licence",
          "PATTERN,...");
  Add(app, "--executors", options.executor.threads,
      "threads that decode and compute, one per core; 0 takes every core, "
      "of a CUDA device at most 8",
      "N");
  Add(app, "--lane-width", options.executor.lane_width,
      "most executors that compute one batch together while the others are idle; 1 lets each work alone, 0 takes all",
      "N");
  Add(app, "--pin", options.pin, "pin each executor to a core: auto (where nobody else runs on the cores), on, off",
      "WORD");
  AddDuration(app, "--probe-interval", options.probe.interval,
              "classify an image of the server's own when no request was answered for this long; inf: only at start");
  Add(app, "--max-batch-tokens", options.batch.max_batch_tokens,
      "most tokens in a batch; on a CPU batches become so large only where much waits, or with --max-wait", "TOKENS");
  Add(app, "--max-batch-pixels", options.batch.max_batch_pixels, "most pixels of the images of a batch", "PIXELS");
  AddDuration(app, "--max-wait", options.batch.max_wait,
              "longest wait for company while an executor is idle; above 0 a batch is all that fits, on a CPU too");
  Add(app, "--max-queue-requests", options.admission.max_requests,
      "most requests admitted whose answer has not been handed over", "N");
  AddBudget(app, options, "--max-queue-bytes", options.admission.max_bytes, "most bytes of their images and tensors");
  AddBudget(app, options, "--max-answer-bytes", options.admission.max_answer_bytes,
            "most bytes of answers that their clients have not taken yet");
  Add(app, "--max-message-bytes", options.rpc.max_message_bytes, "largest message that is read", "BYTES");
  AddBudget(
      app, options, "--max-transport-bytes", options.rpc.max_transport_bytes,
      "most bytes of messages and bodies that were received and are held, over all connections; at least two messages");
  Add(app, "--queues", options.rpc.queues,
      "threads that read and write connections; 0 takes one for each eight executors", "N");
  BindTransport(app, options.rpc);
  BindAbuse(app, options);
  BindIdentity(app, options);
  AddDuration(app, "--lame-duck", options.lame_duck, "serve on this long after NOT_SERVING before draining");
  AddDuration(app, "--drain-deadline", options.drain_deadline, "longest wait for accepted requests at the end");
  AddDuration(app, "--hung-worker-timeout", options.hung_worker_timeout,
              "a batch that takes longer ends the process with exit code 3");
  AddDuration(app, "--poll-interval", options.registry.poll_interval,
              "how often the repository is looked at even if nothing tells of a change");
  Add(app, "--serving-config", options.registry.serving_config,
      "how models are served, textproto of vitrine.v1.ServingConfig; read again when changed", "FILE");
  Add(app, "--admin-state", options.registry.admin_state,
      "where changes of the Admin service are kept; empty: until the server ends", "FILE");
  app.add_option(
         "--model-memory", options.registry.max_memory_bytes,
         "most bytes of the weights of all versions in memory; default: half of a control group's limit, else none")
      ->type_name("BYTES")
      ->each([&options](const std::string&) { options.chosen.insert("--model-memory"); });
  Add(app, "--log-level", options.log_level, "trace, debug, info, warning, error or off", "LEVEL");
  Add(app, "--log-format", options.log_format, "text, or json for an object a line", "FORMAT");
  Add(app, "--log-requests", options.request_log.requests,
      "requests that get a line: none, errors (the server's fault), failures (all that were not answered OK) or all",
      "WHICH");
  AddDuration(app, "--log-slow-requests", options.request_log.slow, "requests that take this long get a line too");
  app.add_flag("--log-batches", options.executor.log_batches, "one line for each batch: images, tokens and grids")
      ->default_str(options.executor.log_batches ? "true" : "false");
  BindTracing(app, options.tracing);
}

std::vector<std::pair<std::string, std::string>> FlagsInForce(const ServerOptions& options) {
  // The options bound to these flags are the values in force, so CLI11 shows them as defaults.
  ServerOptions copy = options;
  CLI::App app;
  BindFlags(app, copy);
  std::vector<std::pair<std::string, std::string>> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "--help") continue;
    flags.emplace_back(option->get_name(), option->get_default_str());
  }
  return flags;
}

}  // namespace vitrine
