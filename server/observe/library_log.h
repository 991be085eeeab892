// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_
#define VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_

namespace vitrine {

// Brings what gRPC and protobuf would write to stderr in a form of their own into the log of the process, as warnings
// with the library and the place; at most so many a second, since whoever connects can cause them. What gRPC writes at
// all is $GRPC_VERBOSITY's. After StartLogging, before other threads.
void TakeLibraryLogs();
inline constexpr int kMaxLibraryLinesPerSecond = 20;

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_LIBRARY_LOG_H_
