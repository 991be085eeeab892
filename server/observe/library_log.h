// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_
#define VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_

namespace vitrine {

// Redirects protobuf's log lines, which otherwise go to stderr in protobuf's own format, to the log of the process. All
// of them become warnings, whatever their level was in protobuf, and name the file and line of protobuf's source that
// wrote them. Any client can cause such lines, so they are limited to kMaxLibraryLinesPerSecond. Call after
// StartLogging, before other threads start.
void RedirectLibraryLogs();
inline constexpr int kMaxLibraryLinesPerSecond = 20;

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_
