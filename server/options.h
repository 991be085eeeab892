// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OPTIONS_H_
#define VITRINE_SERVER_OPTIONS_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/http/server.h"
#include "server/identity/identity.h"
#include "server/models/registry/registry.h"
#include "server/observe/request_log.h"
#include "server/serve/execution/executor.h"
#include "server/serve/request/compute_probe.h"
#include "server/serve/scheduling/admission.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/trace/otlp_options.h"
#include "server/wire/rpc/admin_front.h"
#include "server/wire/rpc_front.h"

namespace CLI {
class App;
}

namespace vitrine {

// Every setting of the server. Each stands in the struct of the part it steers, with default, unit and trade-off;
// BindFlags gives it its flag and help text.
struct ServerOptions {
  // Folder that holds <model>/<version>/. Read only; must exist at start.
  std::string repository;
  // Ready without any version, as a server that waits for its first model is. By default such a server is not ready: it
  // may have been given the wrong folder.
  bool allow_empty = false;
  // host:port of /metrics, /healthz, /readyz and /statusz. Port 0 picks a free one; empty turns the page off.
  std::string metrics = "0.0.0.0:8501";
  // Between two texts of /metrics, on the average: a scraper that asks a hundred times a second would take processor
  // time from the executors. No flag; zero puts one together for everyone who asks.
  absl::Duration scrape_period = absl::Milliseconds(250);
  // host:port of a second listener for pictures (/v1), the Open Inference Protocol (/v2) and the page over HTTP,
  // without gRPC, with TLS where rpc.listen has it. Port 0 picks a free one; empty: there is none.
  std::string http = {};
  // Keeps rpc.listen and rpc.socket to gRPC: HTTP is served on `http` alone.
  bool listen_grpc_only = false;
  // Origins of pages that may read the answers in a browser: see wire/http/cors.h.
  std::vector<std::string> http_cors_origins = {};
  // Whether there is the page for people, and a folder of pictures GROUP/NAME that it offers; empty: none.
  bool page = false;
  std::string page_samples = {};
  // Whether the page offers its visitors to send many requests at once, as a demonstration.
  bool page_burst = false;
  // Where the bound addresses are written, as "grpc=ADDR" and "metrics=ADDR" lines; empty writes no file.
  std::string port_file;
  // "cpu" or "cuda:N".
  std::string device = "cpu";

  // What closes a batch: see batching_policy.h.
  BatchOptions batch;
  // What may wait: see admission.h. `executors` is filled in from `executor` at start.
  AdmissionOptions admission;
  // The threads that compute: see executor.h. `device` is filled in from `device` at start.
  ExecutorOptions executor;
  // Whether each executor is pinned to a core: on, off, or auto, which pins where the control group says that nobody
  // else runs on the cores.
  std::string pin = "auto";
  // Whether the server computes is tried when nobody asks: see compute_probe.h.
  ComputeProbeOptions probe;
  // How the repository is followed: see registry.h. `root` is filled in from `repository` at start.
  RegistryOptions registry;
  // The transport: see rpc_front.h and rpc/transport_options.h.
  RpcOptions rpc;
  // What connections may ask for beside their requests, on rpc.listen and `http`: see base/http/server.h.
  HttpAbuseLimits abuse;
  // Networks of proxies that may tell whose connection theirs is: see HttpServerOptions.
  std::vector<std::string> trusted_proxies = {};
  // Who may call: see identity.h.
  IdentityOptions identity;
  // host:port that answers grpc.health.v1.Health in plaintext and nothing else; empty: there is none.
  std::string health_listen = {};
  // The Admin service: see admin_front.h.
  AdminOptions admin;

  // How long the server still serves after the health service says NOT_SERVING, so that load balancers notice.
  absl::Duration lame_duck = absl::ZeroDuration();
  // How long accepted requests may take to finish after that. What is left then is answered with UNAVAILABLE.
  absl::Duration drain_deadline = absl::Seconds(30);
  // How long the process may take to end once everybody is answered: a load that takes longer, or hangs, ends with the
  // process. Infinite, for servers that share a process with others, waits for it. No flag: vitrine-server sets it.
  absl::Duration end_patience = absl::InfiniteDuration();
  // A batch that takes longer than this will not come back: the process ends with exit code 3, so that whoever started
  // it starts it anew. After half of it, a minute at most, the server says that it is not ready. Infinite waits for
  // ever.
  absl::Duration hung_worker_timeout = absl::Minutes(2);
  // trace, debug, info, warning, error, off.
  std::string log_level = "info";
  // text (key=value) or json (an object a line), see docs/operations/monitoring.md.
  std::string log_format = "text";
  // Which requests get a line: see request_log.h.
  RequestLogOptions request_log;
  // Where traces of requests go, and of how many: see otlp_options.h.
  OtlpOptions tracing;
  // Flags that were given by hand: of budgets of memory only others follow the machine's.
  std::set<std::string> chosen;
  // Commit that the program was built from, for those who look; the program says it, no flag.
  std::string revision = {};

  // Whether anybody gets HTTP beside gRPC.
  bool serves_http() const { return !listen_grpc_only || !http.empty(); }

  // INVALID_ARGUMENT with every fault at once, one line each: the setting, the value and the allowed range.
  absl::Status Validate() const;
};

// Adds one flag per setting to `app`, bound to `options`, which must outlive the parse. Defaults are those of the
// struct.
void BindFlags(CLI::App& app, ServerOptions& options);

// Every flag with the value that `options` has for it. Values are no secrets: those stand in files.
std::vector<std::pair<std::string, std::string>> FlagsInForce(const ServerOptions& options);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OPTIONS_H_
