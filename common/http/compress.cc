// SPDX-License-Identifier: Apache-2.0
#include "common/http/compress.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/gzip.h"

namespace vitrine {
namespace {

// Returns the weight of a list member: 1 if no weight is given, 0 if the weight is malformed.
double WeightOf(absl::string_view parameters) {
  for (absl::string_view each : absl::StrSplit(parameters, ';')) {
    each = absl::StripAsciiWhitespace(each);
    if (!absl::StartsWithIgnoreCase(each, "q=")) continue;
    double weight = 0;
    return absl::SimpleAtod(each.substr(2), &weight) ? weight : 0;
  }
  return 1;
}

}  // namespace

bool TakesGzip(absl::string_view accept_encoding) {
  std::optional<double> gzip, any, identity;
  for (const absl::string_view each : absl::StrSplit(accept_encoding, ',')) {
    const size_t end = std::min(each.find(';'), each.size());
    const absl::string_view coding = absl::StripAsciiWhitespace(each.substr(0, end));
    const double weight = WeightOf(each.substr(end));
    if (absl::EqualsIgnoreCase(coding, "gzip") || absl::EqualsIgnoreCase(coding, "x-gzip")) {
      gzip = std::max(gzip.value_or(0), weight);
    } else if (coding == "*") {
      any = weight;
    } else if (absl::EqualsIgnoreCase(coding, "identity")) {
      identity = weight;
    }
  }
  const double wanted = gzip.value_or(any.value_or(0));
  return wanted > 0 && wanted >= identity.value_or(0);
}

bool IsCompressible(absl::string_view type) {
  constexpr absl::string_view kTypes[] = {"application/json", "application/javascript", "image/svg+xml"};
  type = absl::StripAsciiWhitespace(type.substr(0, type.find(';')));
  return absl::StartsWithIgnoreCase(type, "text/") ||
         std::any_of(std::begin(kTypes), std::end(kTypes),
                     [&](absl::string_view each) { return absl::EqualsIgnoreCase(type, each); });
}

void CompressFor(const HttpRequest& request, HttpResponse& response) {
  if (response.body.size() < kLeastCompressedBytes || !IsCompressible(response.type)) return;
  const auto is_vary = [](const auto& header) { return absl::EqualsIgnoreCase(header.first, "Vary"); };
  if (std::any_of(response.headers.begin(), response.headers.end(), is_vary)) return;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!TakesGzip(request.Header("Accept-Encoding").value_or(""))) return;
  std::string packed = Gzip(response.body);
  if (packed.size() >= response.body.size()) return;
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace vitrine
