// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_SPAN_IDS_H_
#define VITRINE_SERVER_TRACE_SPAN_IDS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine {

// Ids of W3C Trace Context as OTLP sends them: bytes, not all 0.
using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// Random in every bit, which samplers of other programs rely on. Any thread; without a lock.
TraceId NewTraceId();
SpanId NewSpanId();

// Of the hexadecimal digits of a TraceContext, which are right.
TraceId TraceIdOf(std::string_view digits);
SpanId SpanIdOf(std::string_view digits);
std::string Hex(const TraceId& id);
std::string Hex(const SpanId& id);

// Whether a trace that begins here is among the share `ratio`, 0 to 1, of all: the last 56 bits of its id, R, are at
// least (1 - ratio) * 2^56, as https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/ has it,
// so that a trace that a smaller ratio takes is taken by every larger one. Pure.
bool IsSampled(const TraceId& id, double ratio);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_SPAN_IDS_H_
