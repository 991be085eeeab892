#ifndef VITRINE_SERVER_OPTIONS_H_
#define VITRINE_SERVER_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/admission.h"
#include "server/batching_policy.h"
#include "server/executor.h"
#include "server/registry.h"
#include "server/rpc_front.h"

namespace CLI {
class App;
}

namespace vitrine {

// Every setting of the server. Each stands in the struct of the part it steers, with default, unit and trade-off;
// BindFlags gives it its flag and help text.
struct ServerOptions {
  // Folder that holds <model>/<version>/. Read only; must exist at start.
  std::string repository;
  // host:port of /metrics, /healthz and /readyz. Port 0 picks a free one; empty turns the page off.
  std::string metrics = "0.0.0.0:8501";
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
  // How the repository is followed: see registry.h. `root` is filled in from `repository` at start.
  RegistryOptions registry;
  // The transport: see rpc_front.h.
  RpcOptions rpc;

  // How long the server still serves after the health service says NOT_SERVING, so that load balancers notice.
  absl::Duration lame_duck = absl::ZeroDuration();
  // How long accepted requests may take to finish after that. What is left then is answered with UNAVAILABLE.
  absl::Duration drain_deadline = absl::Seconds(30);
  // A batch that takes longer than this will not come back: the process ends with exit code 3, so that whoever started
  // it starts it anew. After half of it, a minute at most, the server says that it is not ready. Infinite waits for
  // ever.
  absl::Duration hung_worker_timeout = absl::Minutes(2);
  // trace, debug, info, warning, error, off. Debug adds a line for each request.
  std::string log_level = "info";

  // INVALID_ARGUMENT with every fault at once, one line each: the setting, the value and the allowed range.
  absl::Status Validate() const;
};

// Adds one flag per setting to `app`, bound to `options`, which must outlive the parse. Defaults are those of the
// struct.
void BindFlags(CLI::App& app, ServerOptions& options);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OPTIONS_H_
