// SPDX-License-Identifier: Apache-2.0
// The server's flags. options.cc checks their values.
#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/options.h"
#include "server/registry/version/memory_budget.h"

namespace vitrine {
namespace {

// Sets the rate limit of a connection to `points` per second, for --reset-limit. HttpAbuseLimits defines the points.
// Scales connection_burst, address_rate and address_burst in proportion.
void SetResetLimit(int64_t points, HttpAbuseLimits& abuse) {
  const HttpAbuseLimits defaults;
  const double scale = static_cast<double>(points) / defaults.connection_rate;
  abuse.connection_rate = static_cast<double>(points);
  abuse.connection_burst = defaults.connection_burst * scale;
  abuse.address_rate = defaults.address_rate * scale;
  abuse.address_burst = defaults.address_burst * scale;
}

// Adds a duration flag in Abseil's format: 250ms, 1.5s, 10m, inf.
CLI::Option* AddDuration(CLI::App& app, const std::string& flag, absl::Duration& value, const std::string& help) {
  return app
      .add_option_function<std::string>(
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

// Adds a flag. If the command line has this flag, its name is added to ServerOptions::chosen.
template <typename T>
void AddChosen(CLI::App& app, ServerOptions& options, const std::string& flag, T& value, const std::string& help,
               const std::string& type) {
  app.add_option(flag, value, help)->capture_default_str()->type_name(type)->each([&options, flag](const std::string&) {
    options.chosen.insert(flag);
  });
}

void BindTransport(CLI::App& app, TransportOptions& transport) {
  Add(app, "--max-metadata-bytes", transport.max_metadata_bytes,
      "maximum size of a request's headers: names, values and 32 bytes per header", "BYTES");
  Add(app, "--max-concurrent-streams", transport.max_concurrent_streams, "maximum concurrent requests per connection",
      "N");
  AddDuration(app, "--max-connection-age", transport.max_connection_age,
              "age at which a connection's client is asked to reconnect");
  AddDuration(app, "--connection-age-grace", transport.connection_age_grace,
              "time that its open requests then have to finish");
  AddDuration(
      app, "--max-connection-idle", transport.max_connection_idle,
      "time after which a connection without requests is closed; keep it above a load balancer's own idle timeout");
  AddDuration(app, "--keepalive-time", transport.keepalive_time, "interval of pings on a silent connection");
  AddDuration(app, "--keepalive-timeout", transport.keepalive_timeout, "maximum wait for the answer to a ping");
  AddDuration(app, "--min-ping-interval", transport.min_ping_interval,
              "minimum interval of a client's pings, less a tenth; a connection that pings more often is closed");
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
  AddList(
      app, "--trusted-proxies", options.trusted_proxies,
      "comma-separated networks of trusted proxies, for example 10.0.0.0/8: they may start a connection with a PROXY "
      "protocol header, version 2, and limits per address do not apply to them",
      "CIDR,...");
  Add(app, "--max-connections-per-address", abuse.connections,
      "maximum open connections per IPv4 address or IPv6 /64 network; 0: no limit", "N");
  app.add_option_function<int64_t>(
         "--reset-limit", [&abuse](const int64_t& points) { SetResetLimit(points, abuse); },
         "maximum resets, pings, settings, empty frames and frames without effect per second and connection, twice as "
         "many per address; connections that exceed it are closed")
      ->default_str(absl::StrCat(std::llround(abuse.connection_rate)))
      ->type_name("N");
}

void BindTracing(CLI::App& app, OtlpOptions& tracing) {
  Add(app, "--otlp-endpoint", tracing.endpoint,
      "OpenTelemetry collector that receives spans by OTLP over HTTP: http://HOST:4318[/v1/traces], or https:// for "
      "TLS; empty: none",
      "URL");
  Add(app, "--trace-sample", tracing.sample,
      "fraction of requests without a traceparent that is traced, 0 to 1; a traceparent decides for its request",
      "FRACTION");
  Add(app, "--otlp-headers", tracing.headers,
      "headers for the collector, one NAME: VALUE per line; the file must not be readable by every user", "FILE");
}

void BindIdentity(CLI::App& app, ServerOptions& options) {
  IdentityOptions& identity = options.identity;
  Add(app, "--tls-cert", identity.tls.certificate,
      "use TLS with this certificate chain in PEM; read again when changed", "FILE");
  Add(app, "--tls-key", identity.tls.key, "private key of --tls-cert; the file must not be readable by every user",
      "FILE");
  Add(app, "--tls-client-ca", identity.tls.client_ca,
      "CA certificates in PEM that client certificates are verified with", "FILE");
  app.add_option_function<std::string>(
         "--tls-client-cert",
         [&identity](const std::string& word) { identity.tls.client_certificate_optional = word == "optional"; },
         "with --tls-client-ca: required, or optional if a client may send a token instead")
      ->check(CLI::IsMember({"required", "optional"}).description(""))
      ->type_name("WORD")
      ->default_str(identity.tls.client_certificate_optional ? "optional" : "required");
  Add(app, "--tokens", identity.tokens, "bearer tokens, made by `vitrine token new`; read again when changed", "FILE");
  app.add_flag("--plaintext-tokens", identity.plaintext_tokens,
               "accept tokens from the network without TLS, for example behind a proxy that terminates TLS")
      ->default_str(identity.plaintext_tokens ? "true" : "false");
  Add(app, "--policy", identity.policy, "access policy, textproto of vitrine.v1.AccessPolicy; read again when changed",
      "FILE");
  // An empty value is rejected, because it may come from an unset variable in a script and would open the server to all
  // callers.
  for (const char* flag : {"--tls-cert", "--tls-key", "--tls-client-ca", "--tokens", "--policy"}) {
    app.get_option(flag)->check([](const std::string& text) {
      return text.empty() ? std::string("the value is empty; name a file, or leave the flag out") : std::string();
    });
  }
  Add(app, "--admin", options.admin.listen, "address of the Admin service, HOST:PORT or unix:///PATH; empty: none",
      "ADDRESS");
  Add(app, "--audit-log", options.admin.audit_log, "file that admin actions are appended to; empty: the log", "FILE");
  Add(app, "--health-listen", options.health_listen,
      "address of a plaintext listener for health probes only; empty: none", "HOST:PORT");
}

}  // namespace

void BindFlags(CLI::App& app, ServerOptions& options) {
  Add(app, "--repository", options.repository,
      "folder with <model>/<version>/, or an address such as s3://BUCKET/PREFIX (vitrine-repo pull --help)", "DIR|URL");
  Add(app, "--repository-cache", options.remote.cache,
      "folder for the copy of a remote repository; with a copy, the server starts without the source", "DIR");
  Add(app, "--repository-cache-bytes", options.remote.cache_bytes, "maximum size of this copy; 0: no limit", "BYTES");
  AddDuration(app, "--repository-refresh", options.remote.refresh, "interval at which the copy is refreshed");
  AddList(app, "--model", options.models,
          "models to import at start and to serve, in place of --repository, each [NAME=]hf:ORG/NAME[@REVISION] or "
          "[NAME=]FOLDER with config.json and model.safetensors",
          "MODEL,...");
  Add(app, "--model-cache", options.model_cache, "folder of imported models; default: ~/.cache/vitrine/models", "DIR");
  app.add_flag("--allow-empty", options.allow_empty,
               "report ready without any model, for a server that waits for its first model")
      ->default_str(options.allow_empty ? "true" : "false");
  Add(app, "--listen", options.rpc.listen,
      "address for gRPC, images (/v1), the Open Inference Protocol (/v2) and the page; port 0 picks a free port",
      "HOST:PORT");
  app.add_flag("--listen-grpc-only", options.listen_grpc_only,
               "serve only gRPC on --listen and --socket, and HTTP only on --http")
      ->default_str(options.listen_grpc_only ? "true" : "false");
  Add(app, "--socket", options.rpc.socket,
      "unix:///PATH of a socket with the same services as --listen, for this user and root only; empty: none",
      "ADDRESS");
  Add(app, "--metrics", options.metrics, "address of /metrics, /healthz, /readyz and /statusz; empty: none",
      "HOST:PORT");
  Add(app, "--http", options.http,
      "address of a second listener with all services of --listen except gRPC; empty: none", "HOST:PORT");
  AddList(app, "--http-cors-origin", options.http_cors_origins,
          "comma-separated origins of web pages that may read responses in a browser (CORS)", "ORIGIN,...");
  app.add_flag("--page", options.page, "serve a web page for people at / on --listen and --http")
      ->default_str(options.page ? "true" : "false");
  app.add_flag("--page-burst", options.page_burst,
               "let visitors of the page send 200 requests at once, to show the effect of load; not for public pages")
      ->default_str(options.page_burst ? "true" : "false");
  Add(app, "--page-samples", options.page_samples,
      "folder of folders with JPEG, PNG or WebP images that the page offers as samples; empty: none", "DIR");
  Add(app, "--port-file", options.port_file, "file that receives the bound addresses", "FILE");
  Add(app, "--device", options.device, "cpu or cuda:N", "DEVICE");
  AddChosen(app, options, "--device-batch-images", options.device_batch.images,
            "maximum images in a batch of a CUDA device, which joins the images of all executors", "N");
  AddChosen(app, options, "--device-batch-tokens", options.device_batch.tokens,
            "maximum tokens in a batch of a CUDA device; the memory of a version grows with it", "TOKENS");
  AddDuration(app, "--device-batch-timeout", options.device_batch.timeout,
              "if a CUDA device finishes no batch for this time although batches were launched, or one batch takes six "
              "times this time, the device counts as lost, and the process ends with exit code 4")
      ->each([&options](const std::string&) { options.chosen.insert("--device-batch-timeout"); });
  Add(app, "--precision", options.registry.precision,
      "precision of models without one in --serving-config: fp32, bf16 or int8; versions without a plan for it in "
      "their manifest (see vitrine-repo quantize) are rejected. auto: on a CUDA device bf16 for versions with a plan "
      "and a golden tolerance for it, otherwise fp32",
      "NAME");
  AddList(app, "--refuse-licence", options.registry.refused_licences,
          "do not load versions with a licence that matches one of these patterns (case-insensitive), for example "
          "'cc-by-nc*,gpl*'; the pattern none matches versions without a licence",
          "PATTERN,...");
  Add(app, "--executors", options.executor.threads,
      "worker threads that decode and compute; 0: one per core, or two per core for a CUDA device", "N");
  Add(app, "--lane-width", options.executor.lane_width,
      "maximum executors that compute one batch together while the others are idle; 1: one per batch, 0: all", "N");
  Add(app, "--pin", options.pin,
      "pin each executor to a core: auto (if no other control group may use the cores), on or off", "WORD");
  AddDuration(app, "--probe-interval", options.probe.interval,
              "time without an answered request after which the server classifies a test image of its own; inf: only "
              "at the start, and for models that failed");
  Add(app, "--max-batch-tokens", options.batch.max_batch_tokens,
      "maximum tokens in a batch; on a CPU only a long queue or --max-wait makes batches this large", "TOKENS");
  Add(app, "--max-batch-pixels", options.batch.max_batch_pixels, "maximum pixels of the images in a batch", "PIXELS");
  AddDuration(app, "--max-wait", options.batch.max_wait,
              "maximum wait for a fuller batch while an executor is idle; above 0, a CPU also fills batches up to "
              "their limits");
  Add(app, "--max-queue-requests", options.admission.max_requests,
      "maximum admitted requests, counted until their answers are delivered", "N");
  AddChosen(app, options, "--max-queue-bytes", options.admission.max_bytes,
            "maximum bytes of the images and tensors of admitted requests", "BYTES");
  AddChosen(app, options, "--max-answer-bytes", options.admission.max_answer_bytes,
            "maximum bytes of answers that clients have not read yet", "BYTES");
  Add(app, "--max-message-bytes", options.rpc.max_message_bytes, "maximum size of a request message", "BYTES");
  AddChosen(app, options, "--max-transport-bytes", options.rpc.max_transport_bytes,
            "maximum bytes of received messages and bodies in memory, over all connections; at least 2 * "
            "--max-message-bytes",
            "BYTES");
  Add(app, "--queues", options.rpc.queues, "threads that read and write connections; 0: one per eight executors", "N");
  BindTransport(app, options.rpc);
  BindAbuse(app, options);
  BindIdentity(app, options);
  AddDuration(app, "--lame-duck", options.lame_duck,
              "time to keep serving after reporting NOT_SERVING, before draining");
  AddDuration(app, "--drain-deadline", options.drain_deadline,
              "maximum time for accepted requests to finish at shutdown");
  AddDuration(app, "--hung-worker-timeout", options.hung_worker_timeout,
              "maximum time of a batch; a longer one ends the process with exit code 3");
  AddDuration(app, "--poll-interval", options.registry.poll_interval,
              "interval at which the repository is read even without a notification of a change");
  Add(app, "--serving-config", options.registry.serving_config,
      "settings of models, textproto of vitrine.v1.ServingConfig; read again when changed", "FILE");
  Add(app, "--admin-state", options.registry.admin_state,
      "file that keeps changes by the Admin service; empty: they are lost when the server ends", "FILE");
  const int64_t memory = options.registry.max_memory_bytes;
  app.add_option(
         "--model-memory", options.registry.max_memory_bytes,
         "maximum bytes of all weights in memory; default: half of the control group's memory limit, or no limit")
      ->type_name("BYTES")
      ->default_str(memory == kNoMemoryLimit ? "" : absl::StrCat(memory))
      ->each([&options](const std::string&) { options.chosen.insert("--model-memory"); });
  Add(app, "--log-level", options.log_level, "trace, debug, info, warning, error or off", "LEVEL");
  Add(app, "--log-format", options.log_format, "text, or json for one object per line", "FORMAT");
  Add(app, "--log-requests", options.request_log.requests,
      "requests that get a log line: none, errors (the server's fault), failures (all except OK) or all", "WHICH");
  AddDuration(app, "--log-slow-requests", options.request_log.slow,
              "duration from which a request gets a log line whatever its result; not with --log-requests none");
  app.add_flag("--log-batches", options.executor.log_batches, "log a line per batch: images, tokens and grids")
      ->default_str(options.executor.log_batches ? "true" : "false");
  BindTracing(app, options.tracing);
}

std::vector<std::pair<std::string, std::string>> FlagsInForce(const ServerOptions& options) {
  // BindFlags registers the bound values as defaults, so CLI11 returns the effective values.
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
