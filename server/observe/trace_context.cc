// SPDX-License-Identifier: Apache-2.0
#include "server/observe/trace_context.h"

#include "common/traceparent.h"

namespace vitrine {
namespace {

int ValueOf(char digit) {
  return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view value) {
  using Form = TraceparentForm;
  if (!IsTraceparent(value)) return std::nullopt;
  return TraceContext{.trace_id = std::string(value.substr(Form::kTraceAt, Form::kTraceDigits)),
                      .span_id = std::string(value.substr(Form::kSpanAt, Form::kSpanDigits)),
                      .sampled = (ValueOf(value[Form::kFlagsAt + 1]) & 1) != 0};
}

}  // namespace vitrine
