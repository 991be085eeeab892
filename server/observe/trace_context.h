// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_TRACE_CONTEXT_H_
#define VITRINE_SERVER_OBSERVE_TRACE_CONTEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace vitrine {

// Position of a request in its caller's trace, from the W3C Trace Context header `traceparent`.
struct TraceContext {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all 0
  std::string span_id;   // the caller's span: 16 lower-case hexadecimal digits, not all 0
  bool sampled = false;
};

// Parses a traceparent header (https://www.w3.org/TR/trace-context-1/#traceparent-header-field-values):
// "VERSION-TRACEID-SPANID-FLAGS". A header with a version above 00 may have "-" and more text after the flags. Returns
// nullopt for any other text, because the standard says to ignore an invalid header.
std::optional<TraceContext> ParseTraceparent(std::string_view value);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_TRACE_CONTEXT_H_
