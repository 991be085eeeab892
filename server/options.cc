// SPDX-License-Identifier: Apache-2.0
#include "server/options.h"

#include <algorithm>
#include <cmath>
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
  void AtLeastOne(absl::string_view flag, int64_t value) {
    if (value < 1) Add(absl::StrCat(flag, " is ", value, "; it must be at least 1"));
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

// Returns true if the address has the form HOST:PORT; otherwise adds a fault.
bool CheckAddress(absl::string_view flag, absl::string_view address, Faults& faults) {
  if (const size_t scheme = address.find("://"); scheme != absl::string_view::npos && address.substr(0, 4) != "unix") {
    faults.Add(absl::StrCat(flag, " is \"", address, "\", a URL; give only its host and port, as in ",
                            address.substr(scheme + 3, address.find('/', scheme + 3) - scheme - 3)));
    return false;
  }
  int port = -1;
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    faults.Add(absl::StrCat(flag, " is \"", address,
                            "\"; it must be host:port with a port of 0 to 65535, for instance 127.0.0.1:8500",
                            flag == "--admin" ? ", or unix:///PATH" : ""));
    return false;
  }
  if (address.substr(0, colon) != "*") return true;
  faults.Add(absl::StrCat(flag, " is \"", address, "\"; write 0.0.0.0 for every IPv4 address, or [::] for IPv6 too"));
  return false;
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

void CheckAbuse(const ServerOptions& options, Faults& faults) {
  faults.InRange<int64_t>("--reset-limit", std::llround(options.abuse.connection_rate), 100, 100'000'000);
  faults.InRange<int64_t>("--max-connections-per-address", options.abuse.connections, 0, 1 << 20);
  for (const std::string& proxies : options.trusted_proxies) {
    if (const absl::Status network = Network::Parse(proxies).status(); !network.ok()) {
      faults.Add(absl::StrCat("--trusted-proxies: ", std::string(network.message())));
    }
  }
}

}  // namespace

absl::Status ServerOptions::Validate() const {
  Faults faults;
  if (models.empty()) faults.Add(remote.Validate(repository));
  if (models.empty() && !model_cache.empty()) faults.Add("--model-cache needs --model");
  const bool is_listen_valid = CheckAddress("--listen", rpc.listen, faults);
  if (!rpc.socket.empty()) CheckSocket("--socket", rpc.socket, faults);
  if (!metrics.empty()) CheckAddress("--metrics", metrics, faults);
  const bool is_admin_valid =
      admin.listen.empty() || absl::StartsWith(admin.listen, "unix:") || CheckAddress("--admin", admin.listen, faults);
  if (!admin.audit_log.empty() && admin.listen.empty()) faults.Add("--audit-log needs --admin");
  if (!health_listen.empty()) CheckAddress("--health-listen", health_listen, faults);
  if (!http.empty()) CheckAddress("--http", http, faults);
  if (page && !serves_http()) {
    faults.Add("--page needs HTTP, but --listen-grpc-only turns it off on --listen; leave that out, or give --http");
  }
  if (page_burst && !page) faults.Add("--page-burst needs --page");
  if (!page_samples.empty() && !page) faults.Add("--page-samples needs --page");
  faults.Add(CrossOrigin::Validate(http_cors_origins));
  if (!http_cors_origins.empty() && !serves_http()) {
    faults.Add(
        "--http-cors-origin needs HTTP, but --listen-grpc-only turns it off on --listen; leave that out, or give "
        "--http");
  }
  if (!http.empty() && identity.takes_credentials() && !identity.tls.enabled() && !identity.plaintext_tokens &&
      !IsLocalAddress(http)) {
    faults.Add(absl::StrCat("--http is ", http,
                            ", where tokens would cross the network unencrypted; give --tls-cert and "
                            "--tls-key, name 127.0.0.1, or set --plaintext-tokens behind a proxy that terminates "
                            "TLS"));
  }
  faults.Add(identity.Validate(is_listen_valid ? rpc.listen : "", is_admin_valid ? admin.listen : ""));
  faults.Add(CheckDevice(device, device_batch, chosen));
  faults.InRange("--device-batch-timeout", device_batch.timeout, absl::Milliseconds(100), absl::Hours(1));
  if (device != "cpu" && device_batch.timeout >= hung_worker_timeout) {
    faults.Add(
        "--device-batch-timeout must be shorter than --hung-worker-timeout, which ends the process with exit code 3");
  }
  faults.AtLeastOne("--max-batch-tokens", batch.max_batch_tokens);
  faults.AtLeastOne("--max-batch-pixels", batch.max_batch_pixels);
  faults.InRange("--max-wait", batch.max_wait, absl::ZeroDuration(), kLongestBatchWait);
  faults.AtLeastOne("--max-queue-requests", admission.max_requests);
  faults.AtLeastOne("--max-queue-bytes", admission.max_bytes);
  faults.AtLeastOne("--max-answer-bytes", admission.max_answer_bytes);
  faults.Add(executor.Validate());
  faults.InRange("--probe-interval", probe.interval, absl::Milliseconds(100), absl::InfiniteDuration());
  if (pin != "auto" && pin != "on" && pin != "off") {
    faults.Add(absl::StrCat("--pin is \"", pin, "\"; it must be auto, on or off"));
  }
  faults.Add(registry.Validate());
  faults.InRange("--poll-interval", registry.poll_interval, absl::Milliseconds(10), absl::Hours(1));
  faults.AtLeastOne("--model-memory", registry.max_memory_bytes);
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

}  // namespace vitrine
