// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_CONNECTION_OBSERVER_H_
#define VITRINE_SERVER_OBSERVE_CONNECTION_OBSERVER_H_

#include <string>

#include "common/http/server.h"
#include "server/observe/line_limit.h"
#include "server/observe/metrics.h"
#include "server/process/clock.h"

namespace vitrine {

// Counts the connections of a listener by the reason of their end, and the requests that were cut off. Logs connections
// and requests that the server ended because of the client, at most ten of each per second; the level is warning if the
// client reached a limit. Thread-safe.
class ConnectionObserver final : public HttpObserver {
 public:
  // `counters` and `clock` must outlive the observer.
  ConnectionObserver(Listener listener, ServerCounters& counters, const Clock& clock);

  void OnAccepted() override;
  void OnRefused(CloseReason reason) override;
  void OnClosed(CloseReason reason) override;
  void OnCutOff(CloseReason reason, const std::string& peer, const std::string& detail) override;
  void OnStreamCutOff(StreamCutOff reason, const std::string& peer) override;

 private:
  const char* const listener_;
  ListenerCounters& counters_;
  LineLimit lines_;
  LineLimit stream_lines_;  // separate, so that one client with many slow requests does not hide other lines
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_CONNECTION_OBSERVER_H_
