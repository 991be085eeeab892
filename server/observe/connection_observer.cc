// SPDX-License-Identifier: Apache-2.0
#include "server/observe/connection_observer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "server/observe/log.h"

namespace vitrine {
namespace {

constexpr int kLinesPerSecond = 10;

// Returns true if the connection was closed because of a limit of the server. All other reasons are common, because
// scanners and hanging clients cause them.
bool IsALimit(CloseReason reason) {
  switch (reason) {
    case CloseReason::kTooManyPings:
    case CloseReason::kAbuse:
    case CloseReason::kUnsent:
    case CloseReason::kConnectRate:
    case CloseReason::kHandshakeRate:
    case CloseReason::kAddressLimit:
    case CloseReason::kConnectionLimit:
      return true;
    default:
      return false;
  }
}

}  // namespace

ConnectionObserver::ConnectionObserver(Listener listener, ServerCounters& counters, const Clock& clock)
    : listener_(kListenerNames[static_cast<size_t>(listener)]),
      counters_(counters.Of(listener)),
      lines_(kLinesPerSecond, clock),
      stream_lines_(kLinesPerSecond, clock) {}

void ConnectionObserver::OnAccepted() {
  counters_.accepted.fetch_add(1, std::memory_order_relaxed);
}

void ConnectionObserver::OnRefused(CloseReason reason) {
  counters_.refused.fetch_add(1, std::memory_order_relaxed);
  OnClosed(reason);
}

void ConnectionObserver::OnClosed(CloseReason reason) {
  counters_.closed[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

void ConnectionObserver::OnCutOff(CloseReason reason, const std::string& peer, const std::string& detail) {
  const std::optional<int64_t> left_out = lines_.Admit();
  if (!left_out.has_value()) return;
  LogFields fields = {{"reason", CloseReasonName(reason)}, {"peer", peer}, {"listener", listener_}};
  if (!detail.empty()) fields.emplace_back("detail", detail);
  if (*left_out > 0) fields.emplace_back("lines_left_out", *left_out);
  Log(IsALimit(reason) ? LogLevel::kWarning : LogLevel::kInfo, "connection cut off", fields);
}

void ConnectionObserver::OnStreamCutOff(StreamCutOff reason, const std::string& peer) {
  counters_.streams_cut_off[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  const std::optional<int64_t> left_out = stream_lines_.Admit();
  if (!left_out.has_value()) return;
  LogFields fields = {{"reason", CloseReasonName(reason)}, {"peer", peer}, {"listener", listener_}};
  if (*left_out > 0) fields.emplace_back("lines_left_out", *left_out);
  Log(LogLevel::kInfo, "request cut off", fields);
}

}  // namespace vitrine
