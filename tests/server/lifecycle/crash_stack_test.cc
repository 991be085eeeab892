// Children that crash in ways that the handler itself has to survive.
#include "server/lifecycle/crash_stack.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "tests/server/lifecycle/full_pipe.h"

namespace vitrine {
namespace {

using ::testing::KilledBySignal;

// Ends a child that hangs, so that the test fails and goes on.
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

TEST(PrintStackOnCrash, SaysWhichSignalAndTheNamesOfTheFunctions) {
  EXPECT_EXIT(
      {
        NoLongerThan(9);
        PrintStackOnCrash();
        raise(SIGSEGV);
      },
      KilledBySignal(SIGSEGV), "crash: signal 11 in thread [0-9]+; addresses: 0x.*crash: #[0-9]+ ");
}

// The unwinder looks at the code of the caller, which is not there.
TEST(PrintStackOnCrash, AStackThatCannotBeReadEndsTheProcessAllTheSame) {
  EXPECT_EXIT(
      {
        NoLongerThan(9);
        PrintStackOnCrash();
        volatile uintptr_t nowhere = 0x10;
        reinterpret_cast<void (*)()>(nowhere)();
      },
      KilledBySignal(SIGSEGV), "crash: signal 11 in thread [0-9]+.*the stack cannot be read");
}

TEST(PrintStackOnCrash, AReportThatNobodyReadsEndsTheProcessAllTheSame) {
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

TEST(CrashHandlerStack, AThreadThatHasOneReportsAnOverflow) {
  EXPECT_EXIT(
      {
        NoLongerThan(9);
        PrintStackOnCrash();
        std::thread([] {
          const CrashHandlerStack stack;
          volatile int first = 0;
          Overflow(&first);
        }).join();
      },
      KilledBySignal(SIGSEGV), "crash: signal 11 in thread");
}

}  // namespace
}  // namespace vitrine
