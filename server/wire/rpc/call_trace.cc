// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/call_trace.h"

namespace vitrine {

std::optional<TraceContext> TraceOf(const grpc::ServerContextBase& context) {
  const auto [begin, end] = context.client_metadata().equal_range("traceparent");
  if (begin == end || std::next(begin) != end) return std::nullopt;
  return ParseTraceparent({begin->second.data(), begin->second.size()});
}

}  // namespace vitrine
