// SPDX-License-Identifier: Apache-2.0
// vitrine-server: serves the models of a repository over gRPC and HTTP until SIGTERM or SIGINT.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/command_line/command_line.h"
#include "common/command_line/setting_sources.h"
#include "common/file/replace.h"
#include "common/join_faults.h"
#include "common/machine/machine.h"
#include "common/status_macros.h"
#include "server/health_check.h"
#include "server/observe/library_log.h"
#include "server/observe/log.h"
#include "server/options.h"
#include "server/process/address_space.h"
#include "server/process/child_process.h"
#include "server/process/crash_stack.h"
#include "server/process/model_import.h"
#include "server/process/service_manager.h"
#include "server/process/standard_files.h"
#include "server/registry/remote_repository.h"
#include "server/resolve.h"
#include "server/server.h"

namespace vitrine {
namespace {

// Value of ServerOptions::end_patience, which the calculation in docs/operations/kubernetes.md uses.
constexpr absl::Duration kEndPatience = absl::Seconds(2);
// Time that the process may take after lame_duck and drain_deadline, for sending the last answers and then waiting up
// to kEndPatience.
constexpr absl::Duration kEndSpare = absl::Seconds(10);
// Interval between checks that the repository is copied and that the server is ready.
constexpr absl::Duration kReadyTick = absl::Milliseconds(200);
// Number of threads that the process may need besides its computing threads: for listeners, loads and watchdogs.
constexpr int kOtherThreads = 32;
// Timeout of --health-check, less than the three seconds that the Dockerfile's HEALTHCHECK allows.
constexpr absl::Duration kHealthPatience = absl::Seconds(2);

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in threads that are started later. Returns these signals for
// sigtimedwait. Ignores some other signals that would end the process by default.
sigset_t BlockSignals() {
  for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM}) signal(ignored, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int awaited : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, awaited);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Raises the soft limit of file descriptors to the hard limit, because every connection needs a descriptor.
void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Makes glibc keep freed memory. By default, glibc may return freed blocks of 128 KiB or more to the system, and must
// then get zeroed pages from the system for the next inference. With a small model, this default lowers the throughput
// by a fifth. Blocks above 4 MiB are still returned at once.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
}

// Limits the number of malloc's arenas (by default up to one per thread), because threads of one arena cannot use the
// free memory of another arena. Allows one arena per two executors, and one for the threads that read calls.
void ShareArenas(int executors) {
  mallopt(M_ARENA_MAX, 1 + (executors + 1) / 2);
}

// Writes the file atomically, so that a script that waits for the file always finds all its lines.
absl::Status WritePortFile(const std::string& path, const Server& server) {
  std::string lines = absl::StrCat("grpc=", server.address(), "\n");
  const auto add = [&](const char* name, const std::string& address) {
    if (!address.empty()) absl::StrAppend(&lines, name, "=", address, "\n");
  };
  add("socket", server.socket_address());
  add("metrics", server.metrics_address());
  add("health", server.health_address());
  add("admin", server.admin_address());
  add("http", server.http_address());
  const absl::Status written = ReplaceFile(path, lines);
  if (written.ok()) return written;
  return absl::Status(written.code(), absl::StrCat("--port-file: ", std::string(written.message())));
}

absl::Status NoThread(const std::system_error& error) {
  return absl::ResourceExhaustedError(absl::StrCat("a thread cannot be started: ", error.code().message(),
                                                   "; raise the process limit (ulimit -u, pids.max), or lower "
                                                   "--executors"));
}

// Checks that the system allows `count` threads: starts all of them, then ends them. RESOURCE_EXHAUSTED: a thread
// cannot be started. The check runs before the server starts, because a server that has only some of its threads cannot
// recover.
absl::Status CheckThreads(int count) {
  std::vector<std::thread> threads;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  absl::Status status;
  try {
    threads.reserve(count);
    while (static_cast<int>(threads.size()) < count) threads.emplace_back([ended] { ended.wait(); });
  } catch (const std::system_error& error) {
    status = NoThread(error);
  }
  end.set_value();
  for (std::thread& thread : threads) thread.join();
  return status;
}

// Returns the number of threads that compute. On a CPU, each executor has a second thread for slow images. On a CUDA
// device, only the executors compute. By default both devices have two computing threads per core.
int ComputingThreads(const ServerOptions& options) {
  if (options.executor.threads == 0) return 2 * FindMachine().Threads();
  return (absl::StartsWith(options.device, "cuda") ? 1 : 2) * options.executor.threads;
}

// Checks that the limits of the process allow the server's stacks and threads. Must be called before models are
// imported or copied. RESOURCE_EXHAUSTED: the limits are too low.
absl::Status CheckLimits(const ServerOptions& options) {
  const int computing = ComputingThreads(options);
  RETURN_IF_ERROR(CheckAddressSpace(computing));
  return CheckThreads(computing + kOtherThreads);
}

// Returns every fault that --check finds if the process may not start the server's threads. `limits` is the error of
// CheckLimits.
absl::Status CheckWithoutThreads(const ServerOptions& options, const absl::Status& limits) {
  return JoinFaults({limits, CheckFiles(options), options.models.empty() ? CheckRepository(options) : absl::OkStatus(),
                     absl::ResourceExhaustedError("the ports, the device and the models of --model were not checked, "
                                                  "because this needs threads")});
}

absl::StatusOr<std::unique_ptr<Server>> StartServer(const ServerOptions& options) {
  try {
    return Server::Start(options);
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
}

// Prints and logs one line per listener, with its services.
void LogListeners(const ServerOptions& options, const Server& server) {
  const std::string http = absl::StrCat("HTTP/1.1, HTTP/2: /v1, /v2", options.page ? ", page" : "");
  const std::string calls = options.listen_grpc_only ? "gRPC" : "gRPC, " + http;
  const std::string tls = options.identity.tls.enabled() ? "; TLS" : "";
  const bool admin_has_tls = !absl::StartsWith(server.admin_address(), "unix:");
  const std::pair<std::string, std::string> listeners[] = {
      {server.address(), calls + tls},
      {server.socket_address(), calls},
      {server.http_address(), http + tls},
      {server.admin_address(), "gRPC: admin" + (admin_has_tls ? tls : "")},
      {server.health_address(), "gRPC: health; HTTP: /healthz, /readyz"},
      {server.metrics_address(), "HTTP: metrics, probes, status"}};
  std::string lines;
  for (const auto& [address, serves] : listeners) {
    if (address.empty()) continue;
    absl::StrAppend(&lines, "listening on ", address, " (", serves, ")\n");
    Log(LogLevel::kInfo, "listening", {{"address", address}, {"serves", serves}});
  }
  std::cout << lines << std::flush;
}

// Reads the configuration again; called on SIGHUP.
void Reread(Server& server) {
  const absl::Status read = server.Reread();
  if (read.ok()) {
    Log(LogLevel::kInfo, "configuration read again", {{"signal", "SIGHUP"}});
  } else {
    Log(LogLevel::kError, "configuration read again except for faulty files, which keep their previous content",
        {{"signal", "SIGHUP"}, {"fault", std::string(read.message())}});
  }
}

// Sends the server's state to its service manager. WATCHDOG=1 shows only that this thread runs and can lock the mutex
// of Health; hung batches are detected by Watch in server.cc. Returns true if the server is or was ready. READY=1 is
// repeated, because a notification may be lost.
bool ReportState(const ServiceManager& manager, Server& server, bool was_ready) {
  const bool ready = was_ready || server.WaitUntilReady(absl::ZeroDuration());
  const std::string why = server.WhyNotReady();
  manager.Notify(absl::StrCat(ready ? "READY=1\n" : "",
                              "WATCHDOG=1\nSTATUS=", why.empty() ? "ready" : absl::StrCat("not ready: ", why)));
  return ready;
}

// Waits for the signal that ends the server. Returns that signal.
int AwaitEnd(const sigset_t& signals, const ServiceManager& manager, Server& server) {
  bool ready = manager.interval() == absl::InfiniteDuration();
  for (;;) {
    if (manager.interval() < absl::InfiniteDuration()) ready = ReportState(manager, server, ready);
    const timespec tick = absl::ToTimespec(ready ? manager.interval() : kReadyTick);
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal == SIGHUP) Reread(server);
    if (signal == SIGTERM || signal == SIGINT) return signal;
  }
}

// Waits for the first copy of a remote repository. The result of an interrupted refresh does not count as a copy,
// because it contains only an arbitrary part of the models. Returns false if a signal ends the wait.
bool AwaitCopy(const RemoteRepository& remote, const std::string& source, const sigset_t& signals) {
  if (remote.HasCopy()) return true;
  Log(LogLevel::kInfo, "waiting for the first copy of the repository", {{"repository", source}});
  const ServiceManager manager;
  for (;;) {
    manager.Notify("WATCHDOG=1\nEXTEND_TIMEOUT_USEC=30000000\nSTATUS=copying the repository");
    const timespec tick = absl::ToTimespec(kReadyTick);
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal == SIGTERM || signal == SIGINT) return false;
    if (remote.HasCopy()) return true;
  }
}

absl::Status Run(const ServerOptions& options, const sigset_t& signals) {
  std::optional<RemoteRepository> remote;
  if (IsRemoteRepository(options.repository)) {
    remote.emplace(options.repository, options.remote, ProgramBeside("vitrine-repo"));
    if (!AwaitCopy(*remote, options.repository, signals)) return absl::OkStatus();
    if (!remote->IsComplete()) {
      Log(LogLevel::kWarning, "the copy of the repository lacks versions", {{"repository", options.repository}});
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, StartServer(options));
  // The port file is written before the lines are printed, so that a program that reads these lines finds the file.
  if (!options.port_file.empty()) RETURN_IF_ERROR(WritePortFile(options.port_file, *server));
  LogListeners(options, *server);
  const ServiceManager manager;
  const int signal = AwaitEnd(signals, manager, *server);
  if (remote.has_value()) remote->Stop();
  Log(LogLevel::kInfo, "ending", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  const absl::Duration device_wait = options.device == "cpu" ? absl::ZeroDuration() : options.device_batch.timeout;
  const absl::Duration end = options.lame_duck + options.drain_deadline + device_wait + kEndSpare;
  manager.Notify(absl::StrCat("STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=", absl::ToInt64Microseconds(end)));
  // A thread waits for a second signal, which shortens the drain. If the thread cannot be started, a second signal has
  // no effect.
  std::atomic<bool> drained = false;
  const auto hurry = [&] {
    const timespec tick = {.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!drained) {
      const int again = sigtimedwait(&signals, nullptr, &tick);
      if (again == SIGTERM || again == SIGINT) server->Hurry();
    }
  };
  std::thread second;
  try {
    second = std::thread(hurry);
  } catch (const std::system_error&) {
    Log(LogLevel::kWarning, "no more threads can start; a second signal does not shorten the drain");
  }
  const Server::Counts counts = server->Drain();
  drained = true;
  if (second.joinable()) second.join();
  if (counts.accepted == counts.answered) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(counts.accepted - counts.answered, " accepted requests were not answered"));
}

// Imports the models of --model, if any, and sets options.repository to the result. Returns an exit code if the process
// must end.
std::optional<int> ImportRequested(ServerOptions& options, const sigset_t& signals) {
  if (options.models.empty()) return std::nullopt;
  if (!options.repository.empty()) {
    std::cerr << "vitrine-server: --model is served, and --repository " << options.repository << " is not\n";
  }
  const absl::StatusOr<std::string> imported = ImportModels(options.models, options.model_cache, signals, {});
  if (absl::IsCancelled(imported.status())) return kExitSuccess;
  if (absl::IsInvalidArgument(imported.status())) {
    Fail("vitrine-server", imported.status());
    return kExitUsage;
  }
  if (!imported.ok()) return Fail("vitrine-server", imported.status());
  options.repository = *imported;
  return std::nullopt;
}

int Main(int argc, char** argv) {
  KeepStandardFiles();
  const sigset_t signals = BlockSignals();
  PrintStackOnCrash();
  RaiseFileLimit();
  KeepFreedMemory();
  ServerOptions options;
  CLI::App app("Serves the models of a repository over gRPC and HTTP.", "vitrine-server");
  BindFlags(app, options);
  AddSettingSources(app, "VITRINE_SERVER_");
  bool check = false;
  app.add_flag(
      "--check", check,
      "check the configuration, the ports, the device and the repository (for a remote repository: its existing copy), "
      "print every fault and exit: 0 if the server would start and find models, 2 for a wrong configuration, 1 for an "
      "unusable port or device, missing models or too few threads; imports the models of --model first");
  std::string asked;
  app.add_option(
         "--health-check", asked,
         "query the server with this --health-listen address and exit: 0 if it is serving, 1 if it is not or does not "
         "answer. For the health checks of containers")
      ->type_name("HOST:PORT");
  if (const std::optional<int> code = ParseCommandLine(app, argc, argv)) return EndOutput("vitrine-server", *code);
  if (!asked.empty()) {
    if (const absl::Status healthy = CheckHealth(asked, kHealthPatience); !healthy.ok()) {
      return Fail("vitrine-server", healthy);
    }
    std::cout << "SERVING\n";
    return EndOutput("vitrine-server", kExitSuccess);
  }
  // Logging is off until its format is configured. CheckConfiguration returns its errors; its warnings are logged
  // later, when the server opens the files again.
  spdlog::set_level(spdlog::level::off);
  if (const absl::Status valid = CheckConfiguration(options); !valid.ok()) {
    Fail("vitrine-server", valid);
    return kExitUsage;
  }
  options.revision = std::string(SourceRevision());
  options.end_patience = kEndPatience;
  StartLogging(check ? "warning" : options.log_level, options.log_format);
  RedirectLibraryLogs();
  ShareArenas(options.executor.ThreadCount());  // called before CheckLimits, whose threads would each get an arena
  if (const absl::Status limits = CheckLimits(options); !limits.ok()) {
    return Fail("vitrine-server", check ? CheckWithoutThreads(options, limits) : limits);
  }
  if (const std::optional<int> code = ImportRequested(options, signals)) return *code;
  if (check) {
    if (const absl::Status opened = Server::Check(options); !opened.ok()) return Fail("vitrine-server", opened);
    std::cout << "the configuration is valid\n";
    return EndOutput("vitrine-server", kExitSuccess);
  }
  const absl::Status ended = Run(options, signals);
  return ended.ok() ? kExitSuccess : Fail("vitrine-server", ended);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
