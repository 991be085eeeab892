#include "server/observability/trace_context.h"

#include <algorithm>

namespace vitrine {
namespace {

// Of "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".
constexpr size_t kTraceAt = 3, kTraceDigits = 32, kSpanAt = 36, kSpanDigits = 16, kFlagsAt = 53, kLength = 55;

bool IsDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool AreDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsDigit);
}

bool AreZeros(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '0'; });
}

int ValueOf(char digit) {
  return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view value) {
  if (value.size() < kLength) return std::nullopt;
  const std::string_view version = value.substr(0, 2);
  if (!AreDigits(version) || version == "ff") return std::nullopt;
  if (value.size() > kLength && (version == "00" || value[kLength] != '-')) return std::nullopt;
  if (value[kTraceAt - 1] != '-' || value[kSpanAt - 1] != '-' || value[kFlagsAt - 1] != '-') return std::nullopt;
  const std::string_view trace = value.substr(kTraceAt, kTraceDigits);
  const std::string_view span = value.substr(kSpanAt, kSpanDigits);
  const std::string_view flags = value.substr(kFlagsAt, 2);
  if (!AreDigits(trace) || !AreDigits(span) || !AreDigits(flags)) return std::nullopt;
  if (AreZeros(trace) || AreZeros(span)) return std::nullopt;
  return TraceContext{
      .trace_id = std::string(trace), .span_id = std::string(span), .sampled = (ValueOf(flags[1]) & 1) != 0};
}

}  // namespace vitrine
