// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_TRACEPARENT_H_
#define VITRINE_COMMON_TRACEPARENT_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace vitrine {

// Offsets and lengths of the parts of a header value such as "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".
struct TraceparentForm {
  static constexpr size_t kTraceAt = 3, kTraceDigits = 32, kSpanAt = 36, kSpanDigits = 16, kFlagsAt = 53, kLength = 55;
};

// Returns true for a valid value of the header `traceparent`
// (https://www.w3.org/TR/trace-context-1/#traceparent-header-field-values): "VERSION-TRACEID-SPANID-FLAGS" in
// lower-case hexadecimal digits; neither id may be all zeros. Versions above 00 may have more text after the flags,
// starting with "-".
inline bool IsTraceparent(std::string_view value) {
  using Form = TraceparentForm;
  const auto digits = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  };
  const auto id = [&](std::string_view text) {
    return digits(text) && text.find_first_not_of('0') != std::string_view::npos;
  };
  if (value.size() < Form::kLength) return false;
  const std::string_view version = value.substr(0, 2);
  if (!digits(version) || version == "ff") return false;
  if (value.size() > Form::kLength && (version == "00" || value[Form::kLength] != '-')) return false;
  if (value[Form::kTraceAt - 1] != '-' || value[Form::kSpanAt - 1] != '-' || value[Form::kFlagsAt - 1] != '-')
    return false;
  return id(value.substr(Form::kTraceAt, Form::kTraceDigits)) && id(value.substr(Form::kSpanAt, Form::kSpanDigits)) &&
         digits(value.substr(Form::kFlagsAt, 2));
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_TRACEPARENT_H_
