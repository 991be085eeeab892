// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/interrupt.h"

#include <csignal>
#include <cstdint>
#include <ctime>

namespace vitrine {
namespace {

constexpr int64_t kSameInterruptMs = 300;
constexpr int kSignalBase = 128;  // shells report 128 + N as the exit status of a process that signal N ended

std::atomic<int64_t> interrupted_at = 0;  // in milliseconds of CLOCK_MONOTONIC; 0: no signal yet
std::atomic<bool> interrupted = false;
std::atomic<int> first_signal = 0;

int64_t Milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void OnSignal(int signal) {
  const int64_t now = Milliseconds();
  NoteInterrupt(signal);
  int64_t first = 0;
  if (interrupted_at.compare_exchange_strong(first, now) || now - first < kSameInterruptMs) return;
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void EndInOrder() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void NoteInterrupt(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  interrupted.store(true);
}

bool Interrupted() {
  return interrupted.load(std::memory_order_relaxed);
}

const std::atomic<bool>* InterruptedFlag() {
  return &interrupted;
}

int InterruptedExitCode() {
  return kSignalBase + first_signal.load();
}

}  // namespace vitrine
