// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/load/bench_command.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

bool ProcessExists(int process) {
  std::error_code error;
  return std::filesystem::exists("/proc/" + std::to_string(process), error);
}

// Returns true if every request has a deadline set by the user.
bool HasDeadlines(const BenchCommand& command) {
  if (command.deadline_given) return true;
  RequestClass defaults;
  defaults.deadline = absl::InfiniteDuration();
  for (const std::string& text : command.mix) {
    const auto mix = ParseMix(text, defaults);
    if (!mix.ok() || std::any_of(mix->begin(), mix->end(),
                                 [](const RequestClass& one) { return one.deadline == absl::InfiniteDuration(); })) {
      return false;
    }
  }
  return !command.mix.empty();
}

absl::Status ValidateSizes(const BenchCommand& command) {
  const auto wrong = [](const auto&... text) { return absl::InvalidArgumentError(absl::StrCat(text...)); };
  const bool closed = command.IsClosed();
  if (command.load.threads > command.connections) {
    return wrong("--threads ", command.load.threads, " needs at least as many --connections, got ",
                 command.connections);
  }
  if (const int most = closed ? command.load.concurrency : command.load.max_outstanding; command.load.threads > most) {
    return wrong("--threads ", command.load.threads, " share ", closed ? "--concurrency " : "--max-outstanding ", most,
                 ", so some would have no request; give fewer threads");
  }
  if (command.duration.has_value() && *command.duration <= absl::ZeroDuration()) {
    return wrong("--duration ", absl::FormatDuration(*command.duration), " measures nothing");
  }
  for (const auto& [flag, time] : {std::pair("--duration ", command.duration), {"--warmup ", command.warm_up}}) {
    if (time.value_or(absl::ZeroDuration()) <= kLongestLoad) continue;
    return wrong(flag, absl::FormatDuration(*time), " is too long; give at most ", absl::FormatDuration(kLongestLoad));
  }
  if (command.load.server_process > 0 && !ProcessExists(command.load.server_process)) {
    return wrong("--server-pid ", command.load.server_process, ": there is no such process on this machine");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateBench(const BenchCommand& command) {
  const auto wrong = [](const auto&... text) { return absl::InvalidArgumentError(absl::StrCat(text...)); };
  RETURN_IF_ERROR(ValidateSizes(command));
  if (!command.trace.empty() &&
      (command.rate.has_value() || command.sweep.has_value() || command.find_max || !command.mix.empty())) {
    return wrong("a trace has its own rate and mix: leave out --rate, --sweep, --find-max and --mix");
  }
  if (command.sweep.has_value() && command.rate.has_value()) {
    return wrong("--sweep has its own rates: leave out --rate");
  }
  if (!command.find_max && !command.goal.bounds.empty()) return wrong("--latency needs --find-max; add it");
  if (command.find_max && command.goal.bounds.empty() && !HasDeadlines(command)) {
    return wrong("--find-max needs a bound: give for instance --latency p99=50ms, or a --deadline");
  }
  if (!command.gates.empty() && command.sweep.has_value() && !command.find_max) {
    return wrong("--require checks one load, but --sweep makes several; give --rate, or --find-max");
  }
  if (command.find_max && !(command.goal.least_good > 0)) {
    return wrong("--good ", command.goal.least_good, " is met without an answer; give a share above 0");
  }
  return absl::OkStatus();
}

bool BenchCommand::IsClosed() const {
  return trace.empty() && !rate.has_value() && !sweep.has_value() && !find_max;
}

}  // namespace vitrine
