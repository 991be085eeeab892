// SPDX-License-Identifier: Apache-2.0
#include "client/lib/traceparent.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/traceparent.h"

namespace vitrine {

absl::StatusOr<std::string> CheckTraceparent(const std::string& text) {
  // Later versions of the standard may add fields after the flags. Such fields must also be valid in a header.
  const bool plain = std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isgraph(c); });
  if (plain && IsTraceparent(text)) return text;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\" is no traceparent; the form is VERSION-TRACEID-SPANID-FLAGS in lower-case hexadecimal digits, as in "
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
}

void AddTraceparent(const std::string& traceparent, grpc::ClientContext& context) {
  if (!traceparent.empty()) context.AddMetadata("traceparent", traceparent);
}

}  // namespace vitrine
