// SPDX-License-Identifier: Apache-2.0
#include "common/http/close_reason.h"

#include <iterator>

namespace vitrine {
namespace {

// One row for each CloseReason, in the same order.
constexpr struct {
  const char* name;
  bool is_cut_off;
} kReasons[] = {{"client", false},          {"done", false},        {"idle", false},          {"age", false},
                {"head_timeout", true},     {"slow_client", true},  {"keepalive", false},     {"tls", true},
                {"certificate", true},      {"protocol", true},     {"too_many_pings", true}, {"abuse", true},
                {"unsent", true},           {"connect_rate", true}, {"handshake_rate", true}, {"address_limit", true},
                {"connection_limit", true}, {"shutdown", false}};
static_assert(std::size(kReasons) == kCloseReasons);

}  // namespace

const char* CloseReasonName(CloseReason reason) {
  return kReasons[static_cast<int>(reason)].name;
}

const char* CloseReasonName(StreamCutOff reason) {
  return reason == StreamCutOff::kSlowBody ? "slow_body" : "unread";
}

bool IsCutOff(CloseReason reason) {
  return kReasons[static_cast<int>(reason)].is_cut_off;
}

}  // namespace vitrine
