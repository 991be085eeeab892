// SPDX-License-Identifier: Apache-2.0
#include "common/http/close_reason.h"

namespace vitrine {

const char* CloseReasonName(CloseReason reason) {
  switch (reason) {
    case CloseReason::kClient:
      return "client";
    case CloseReason::kDone:
      return "done";
    case CloseReason::kIdle:
      return "idle";
    case CloseReason::kAge:
      return "age";
    case CloseReason::kHeadTimeout:
      return "head_timeout";
    case CloseReason::kSlowClient:
      return "slow_client";
    case CloseReason::kKeepalive:
      return "keepalive";
    case CloseReason::kTls:
      return "tls";
    case CloseReason::kCertificate:
      return "certificate";
    case CloseReason::kProtocol:
      return "protocol";
    case CloseReason::kTooManyPings:
      return "too_many_pings";
    case CloseReason::kAbuse:
      return "abuse";
    case CloseReason::kUnsent:
      return "unsent";
    case CloseReason::kConnectRate:
      return "connect_rate";
    case CloseReason::kHandshakeRate:
      return "handshake_rate";
    case CloseReason::kAddressLimit:
      return "address_limit";
    case CloseReason::kConnectionLimit:
      return "connection_limit";
    case CloseReason::kShutdown:
      return "shutdown";
  }
  return "unknown";
}

bool IsCutOff(CloseReason reason) {
  switch (reason) {
    case CloseReason::kHeadTimeout:
    case CloseReason::kSlowClient:
    case CloseReason::kCertificate:
    case CloseReason::kProtocol:
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

}  // namespace vitrine
