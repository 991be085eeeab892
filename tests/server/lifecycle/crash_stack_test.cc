// SPDX-License-Identifier: Apache-2.0
// Tests the crash handler in child processes that crash. It must end the process even if the handler itself crashes or
// blocks.
#include "server/process/crash_stack.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "server/pages/http_endpoint.h"
#include "server/registry/registry.h"
#include "tests/server/dripping.h"
#include "tests/server/lifecycle/full_pipe.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::KilledBySignal;

// Ends this child process after `seconds`, so that a child that hangs fails its test and the other tests still run.
void NoLongerThan(unsigned seconds) {
  std::thread([seconds] {
    sleep(seconds);
    _exit(99);
  }).detach();
}

[[gnu::noinline]] int Overflow(volatile int* above) {  // NOLINT(misc-no-recursion)
  volatile int here[1024];
  here[0] = *above + 1;
  return *above < 0 ? here[0] : Overflow(here) + here[1];
}

void Overflow() {
  volatile int first = 0;
  Overflow(&first);
}

// Each of the following functions overflows the stack of one kind of server thread.
void OverflowInAConnection() {
  NoLongerThan(9);
  PrintStackOnCrash();
  HttpServerOptions options = {.listen = "127.0.0.1:0"};
  options.on_thread = WithCrashStack;
  const auto server = HttpServer::Start(options, [](const std::shared_ptr<HttpRequest>&) -> HttpHandling {
    Overflow();
    return HttpHandling::Answer({});
  });
  testing::AnswerToADrip((*server)->address(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
}

void OverflowInTheRegistry(const FakeRepository& files) {
  NoLongerThan(9);
  PrintStackOnCrash();
  const FakeClock clock;
  Registry registry(
      {.root = files.root(), .serving_config = "", .admin_state = ""},
      [](const VersionId& id) -> absl::StatusOr<ModelHandle> {
        Overflow();
        return absl::InternalError(id.model);
      },
      clock);
  registry.Start();
  for (;;) pause();
}

void OverflowInAnHttpHandler() {
  NoLongerThan(9);
  PrintStackOnCrash();
  const auto endpoint = StartHttpEndpoint("127.0.0.1:0", {.not_ready = [] {
                                            Overflow();
                                            return std::string();
                                          }});
  testing::AnswerToADrip((*endpoint)->address(), "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(PrintStackOnCrash, PrintsTheSignalAndTheFunctions) {
  EXPECT_EXIT(
      {
        NoLongerThan(9);
        PrintStackOnCrash();
        raise(SIGSEGV);
      },
      KilledBySignal(SIGSEGV), "crash: signal 11 in thread [0-9]+; addresses: 0x.*crash: #[0-9]+ ");
}

// clang's UBSan would read the memory before the called function, and crash there.
#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
void Call(void (*function)()) {
  function();
}

// Calls an address without code. The unwinder reads the code at this address, so the handler itself crashes.
TEST(PrintStackOnCrash, AnUnreadableStackDoesNotPreventTheEnd) {
  EXPECT_EXIT(
      {
        NoLongerThan(9);
        PrintStackOnCrash();
        volatile uintptr_t nowhere = 0x10;
        Call(reinterpret_cast<void (*)()>(nowhere));  // NOLINT(performance-no-int-to-ptr): a place without code
      },
      KilledBySignal(SIGSEGV), "crash: signal 11 in thread [0-9]+.*the stack cannot be read");
}

TEST(PrintStackOnCrash, AFullStandardErrorDoesNotPreventTheEnd) {
  EXPECT_EXIT(
      {
        NoLongerThan(15);
        PrintStackOnCrash();
        int pipes[2];
        if (pipe(pipes) != 0) _exit(98);
        dup2(pipes[1], STDERR_FILENO);
        std::thread([] {
          const char block[4096] = {};
          for (;;) (void)!write(STDERR_FILENO, block, sizeof(block));
        }).detach();
        AwaitFullPipe(pipes[1]);
        raise(SIGABRT);
      },
      KilledBySignal(SIGABRT), "");
}

TEST(CrashHandlerStack, ReportsAStackOverflowOfItsThread) {
  EXPECT_EXIT(
      {
        NoLongerThan(9);
        PrintStackOnCrash();
        std::thread([] {
          const CrashHandlerStack stack;
          Overflow();
        }).join();
      },
      KilledBySignal(SIGSEGV), "crash: signal 11 in thread");
}

TEST(CrashHandlerStack, ExistsInConnectionAndHttpThreads) {
  EXPECT_EXIT(OverflowInAConnection(), KilledBySignal(SIGSEGV), "crash: signal 11 in thread");
  EXPECT_EXIT(OverflowInAnHttpHandler(), KilledBySignal(SIGSEGV), "crash: signal 11 in thread");
}

TEST(CrashHandlerStack, ExistsInTheRegistryThread) {
  FakeRepository files;
  files.Add("m", 1);
  EXPECT_EXIT(OverflowInTheRegistry(files), KilledBySignal(SIGSEGV), "crash: signal 11 in thread");
}

}  // namespace
}  // namespace vitrine
