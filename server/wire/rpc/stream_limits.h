// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_STREAM_LIMITS_H_
#define VITRINE_SERVER_WIRE_RPC_STREAM_LIMITS_H_

#include <cstdint>

namespace vitrine {

// Requests of one stream that are read and not yet written back. The server reads no further, so that a client that
// does not read its answers holds only these.
inline constexpr int kMaxInFlight = 64;
// The same in bytes: of the answers that are not yet written, and of what those to come may add. One request more is
// read, whatever its answer takes.
inline constexpr int64_t kMaxAnswerBytes = int64_t{8} << 20;

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_STREAM_LIMITS_H_
