// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_
#define VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_

namespace vitrine {

// Brings what protobuf would write to stderr in a form of its own into the log of the process, as warnings with the
// place; at most so many a second, since whoever connects can cause them. After StartLogging, before other threads.
void TakeLibraryLogs();
inline constexpr int kMaxLibraryLinesPerSecond = 20;

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_
