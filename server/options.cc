#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace vitrine {
namespace {

constexpr absl::string_view kLogLevels[] = {"trace", "debug", "info", "warning", "error", "off"};

// Collects a sentence for every setting at fault.
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

// Durations are written as absl does: 250ms, 1.5s, 10m, inf.
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
  if (!metrics.empty()) CheckAddress("--metrics", metrics, faults);
  faults.Add(ParseDevice(device).status());
  faults.Add(batch.Validate());
  faults.Add(admission.Validate());
  faults.Add(executor.Validate());
  if (!repository.empty()) {
    RegistryOptions followed = registry;
    followed.root = repository;
    faults.Add(followed.Validate());
  }
  faults.InRange<int64_t>("--max-message-bytes", rpc.max_message_bytes, 1024, int64_t{1} << 30);
  faults.InRange<int64_t>("--max-transport-bytes", rpc.max_transport_bytes, 2 * rpc.max_message_bytes,
                          int64_t{1} << 40);
  faults.InRange<int64_t>("--queues", rpc.queues, 1, 256);
  faults.InRange("--max-connection-age", rpc.max_connection_age, absl::Seconds(1), absl::InfiniteDuration());
  faults.InRange("--lame-duck", lame_duck, absl::ZeroDuration(), absl::Hours(1));
  faults.InRange("--hung-worker-timeout", hung_worker_timeout, absl::Milliseconds(1), absl::InfiniteDuration());
  faults.InRange("--drain-deadline", drain_deadline, absl::ZeroDuration(), absl::Hours(1));
  if (std::find(std::begin(kLogLevels), std::end(kLogLevels), log_level) == std::end(kLogLevels)) {
    faults.Add(absl::StrCat("--log-level is \"", log_level, "\"; it must be one of ", absl::StrJoin(kLogLevels, ", ")));
  }
  return faults.ToStatus();
}

void BindFlags(CLI::App& app, ServerOptions& options) {
  Add(app, "--repository", options.repository, "folder that holds <model>/<version>/", "DIR");
  Add(app, "--listen", options.rpc.listen, "address of the gRPC service; port 0 picks a free one", "HOST:PORT");
  Add(app, "--metrics", options.metrics, "address of /metrics, /healthz and /readyz; empty turns them off",
      "HOST:PORT");
  Add(app, "--port-file", options.port_file, "file to write the bound addresses to", "FILE");
  Add(app, "--device", options.device, "cpu or cuda:N", "DEVICE");
  Add(app, "--executors", options.executor.threads, "threads that decode and compute, one per core; 0 takes every core",
      "N");
  Add(app, "--max-batch-tokens", options.batch.max_batch_tokens, "most tokens in a batch", "TOKENS");
  Add(app, "--max-batch-pixels", options.batch.max_batch_pixels, "most pixels of the pictures of a batch", "PIXELS");
  AddDuration(app, "--max-wait", options.batch.max_wait, "longest wait for company while an executor is idle");
  Add(app, "--max-queue-requests", options.admission.max_requests, "most requests between admission and answer", "N");
  Add(app, "--max-queue-bytes", options.admission.max_bytes, "most bytes between admission and answer", "BYTES");
  Add(app, "--max-message-bytes", options.rpc.max_message_bytes, "largest message that is read", "BYTES");
  Add(app, "--max-transport-bytes", options.rpc.max_transport_bytes,
      "most bytes of messages on their way, over all connections; at least two messages", "BYTES");
  Add(app, "--queues", options.rpc.queues, "threads that read calls", "N");
  AddDuration(app, "--max-connection-age", options.rpc.max_connection_age, "age at which a connection is asked to go");
  AddDuration(app, "--lame-duck", options.lame_duck, "serve on this long after NOT_SERVING before draining");
  AddDuration(app, "--drain-deadline", options.drain_deadline, "longest wait for accepted requests at the end");
  AddDuration(app, "--hung-worker-timeout", options.hung_worker_timeout,
              "a batch that takes longer ends the process with exit code 3");
  AddDuration(app, "--poll-interval", options.registry.poll_interval, "how often the repository is looked at");
  Add(app, "--log-level", options.log_level, "trace, debug, info, warning, error or off", "LEVEL");
  app.add_flag("--log-batches", options.executor.log_batches, "one line for each batch: images, tokens and grids");
}

}  // namespace vitrine
