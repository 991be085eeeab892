// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OPTIONS_H_
#define VITRINE_SERVER_OPTIONS_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/http/server.h"
#include "server/identity/identity.h"
#include "server/observe/request_log.h"
#include "server/registry/registry.h"
#include "server/registry/remote_repository.h"
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

// All settings of the server, with their defaults, units and trade-offs. The settings of a component are in the
// component's struct. BindFlags defines the flags and their help texts.
struct ServerOptions {
  // Folder that contains <model>/<version>/, or an address such as s3://bucket/prefix. A folder must exist at start and
  // is never written. The files at an address are copied to `remote.cache`.
  std::string repository;
  // Models to import into `model_cache` at start: see process/model_import.h. If there are any, the program replaces
  // `repository` by the result of the import.
  std::vector<std::string> models = {};
  std::string model_cache = {};
  // Settings of the local copy of a remote repository: see remote_repository.h.
  RemoteRepositoryOptions remote = {};
  // True: a server without versions reports ready and waits for its first model. False: such a server reports not
  // ready, because the folder may be wrong.
  bool allow_empty = false;
  // host:port of /metrics, /healthz, /readyz and /statusz. Port 0 picks a free port; empty: no listener.
  std::string metrics = "0.0.0.0:8501";
  // Minimum average time between two renderings of /metrics. More frequent scrapes get the last text, so that they take
  // no CPU time from the executors. Zero: each scrape renders the text. This setting has no flag.
  absl::Duration scrape_period = absl::Milliseconds(250);
  // host:port of a second listener, which serves images (/v1), the Open Inference Protocol (/v2) and the page over
  // HTTP, but not gRPC. It has TLS if rpc.listen has it. Port 0 picks a free port; empty: no listener.
  std::string http = {};
  // True: rpc.listen and rpc.socket serve only gRPC, and HTTP is served only on `http`.
  bool listen_grpc_only = false;
  // Origins of pages whose scripts may read the answers in a browser: see wire/http/cors.h.
  std::vector<std::string> http_cors_origins = {};
  // True: the web page is served. page_samples: folder of the page's sample images (GROUP/NAME); empty: no samples.
  bool page = false;
  std::string page_samples = {};
  // True: visitors of the page may send many requests at once, as a demonstration.
  bool page_burst = false;
  // File that receives the bound addresses, one line such as "grpc=ADDR" per listener; empty: none.
  std::string port_file;
  // "cpu" or "cuda:N".
  std::string device = "cpu";
  // Limits of a CUDA device's batches. Larger batches use a large GPU better, but each version then needs more GPU and
  // host memory.
  DeviceBatch device_batch = {};

  // Batch limits: see batching_policy.h.
  BatchOptions batch;
  // Limits on waiting requests: see admission.h. Resolve sets the fields that depend on the executors and on `batch`.
  AdmissionOptions admission;
  // Worker threads: see executor.h. Resolve sets the device, the cores, the pinning and, if it is 0, the number of
  // threads.
  ExecutorOptions executor;
  // Pinning of each executor to a core: on, off or auto. "auto" pins if no other control group may use the cores of the
  // server's control group and there is a core for each executor.
  std::string pin = "auto";
  // Compute probes, which run when there are no requests: see compute_probe.h.
  ComputeProbeOptions probe;
  // Polling of the repository: see registry.h. Resolve sets registry.root to the result of folder().
  RegistryOptions registry;
  // Transport: see wire/rpc_front.h and wire/rpc/transport_options.h.
  RpcOptions rpc;
  // Limits on the load that clients cause in addition to answered requests, on rpc.listen and `http`: see
  // common/http/server.h.
  HttpAbuseLimits abuse;
  // Networks of proxies that are trusted to report the addresses of their clients: see HttpServerOptions.
  std::vector<std::string> trusted_proxies = {};
  // Authentication: see identity.h.
  IdentityOptions identity;
  // host:port that answers only grpc.health.v1.Health and HTTP probes, in plaintext; empty: no listener.
  std::string health_listen = {};
  // Admin service: see admin_front.h.
  AdminOptions admin;

  // Time for which the server still serves after its health service reports NOT_SERVING, so that load balancers have
  // time to notice.
  absl::Duration lame_duck = absl::ZeroDuration();
  // Time for accepted requests to finish after lame_duck. Requests that still wait at the end of this time are answered
  // with UNAVAILABLE.
  absl::Duration drain_deadline = absl::Seconds(30);
  // Time for the process to end after all requests are answered. A model load that takes longer is aborted by the end
  // of the process. Infinite: the server waits for the load; code that embeds the server in its own process must use
  // this value. This setting has no flag: vitrine-server sets it.
  absl::Duration end_patience = absl::InfiniteDuration();
  // Longest run time of a batch. A batch that takes longer is assumed to hang: the process ends with exit code 3, so
  // that a supervisor restarts it. After half of this time, or after a minute if that is earlier, the server reports
  // not ready. Infinite: no limit.
  absl::Duration hung_worker_timeout = absl::Minutes(2);
  // trace, debug, info, warning, error, off.
  std::string log_level = "info";
  // text (key=value) or json (one object per line): see docs/operations/monitoring.md.
  std::string log_format = "text";
  // Requests that get a log line: see request_log.h.
  RequestLogOptions request_log;
  // Tracing: see otlp_options.h.
  OtlpOptions tracing;
  // Names of those flags on the command line that set a memory budget or `device_batch`. If a control group limits the
  // memory, a budget whose flag is not in this set is at most a share of the limit.
  std::set<std::string> chosen;
  // Commit that the program was built from, for display. The program sets it; there is no flag.
  std::string revision = {};

  // Returns the folder that is served: the repository, or the copy of a remote repository.
  const std::string& folder() const { return IsRemoteRepository(repository) ? remote.cache : repository; }
  // Returns true if HTTP is served to clients in addition to gRPC.
  bool serves_http() const { return !listen_grpc_only || !http.empty(); }

  // Returns INVALID_ARGUMENT with one line per fault: the setting, its value and the allowed range.
  absl::Status Validate() const;
};

// Adds the flags of the settings to `app`, bound to `options`, which must outlive the parse. The values in `options`
// are the defaults.
void BindFlags(CLI::App& app, ServerOptions& options);

// Returns every flag with its value in `options`. No value is a secret, since secrets are in files.
std::vector<std::pair<std::string, std::string>> FlagsInForce(const ServerOptions& options);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OPTIONS_H_
