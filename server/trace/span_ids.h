// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_TRACE_SPAN_IDS_H_
#define VITRINE_SERVER_TRACE_SPAN_IDS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine {

// Ids of W3C Trace Context in OTLP's form: bytes, not all 0.
using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// Return random ids. All bits are random, because samplers of other programs rely on this. Thread-safe and lock-free.
TraceId NewTraceId();
SpanId NewSpanId();

// Convert hexadecimal digits to ids and back. `digits` must be 32 (TraceIdOf) or 16 (SpanIdOf) lower-case digits, as in
// TraceContext.
TraceId TraceIdOf(std::string_view digits);
SpanId SpanIdOf(std::string_view digits);
std::string Hex(const TraceId& id);
std::string Hex(const SpanId& id);

// Returns true if a trace that begins in this process is sampled at `ratio`, 0 to 1. This is the case if the last 56
// bits of its id are at least (1 - ratio) * 2^56 (see
// https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/). A trace sampled at one ratio is
// therefore sampled at every larger ratio. Pure function.
bool IsSampled(const TraceId& id, double ratio);

}  // namespace vitrine

#endif  // VITRINE_SERVER_TRACE_SPAN_IDS_H_
