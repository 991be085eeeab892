// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/parse_json.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/process/shed.h"
#include "server/wire/http/curl_line.h"

namespace vitrine {
namespace {

// Retry delay, longer than the parsing of most JSON texts takes.
constexpr absl::Duration kParsingRetry = absl::Milliseconds(100);
constexpr size_t kMaxDepth = 16;  // nesting limit; the parser stores every level

// Memory demand of a JSON text, found in one scan.
struct JsonDemand {
  size_t depth = 0;  // nesting of arrays and objects
  // Number of bytes that take many times their size in memory after parsing: all bytes outside strings, and at most
  // kShort bytes of each string.
  size_t dense = 0;
};

JsonDemand DemandOf(std::string_view text) {
  constexpr size_t kShort = 64;  // memory that a parsed string needs in addition to its text, in bytes
  JsonDemand demand;
  size_t depth = 0, begin = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;  // an escaped quote does not end the string
      if (c != '"') continue;
      in_string = false;
      demand.dense += std::min(i - begin, kShort);
      continue;
    }
    ++demand.dense;
    if (c == '"') {
      in_string = true;
      begin = i;
    } else if (c == '[' || c == '{') {
      demand.depth = std::max(demand.depth, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return demand;
}

}  // namespace

absl::StatusOr<BudgetShare> ReserveJson(const std::shared_ptr<ByteBudget>& budget, size_t bytes) {
  BudgetShare share(budget);
  if (share.Add(static_cast<int64_t>(std::min(bytes, kMaxJsonBytes)))) return share;
  return ShedError(ShedReason::kBytes, "the server is parsing as much JSON as its limit allows", kParsingRetry);
}

absl::Status ParseJsonBody(std::string_view text, const char* what, JsonDocument& document) {
  if (LooksLikeImage(text)) return absl::InvalidArgumentError(absl::StrCat(what, " is an image, but must be JSON"));
  if (text.starts_with("--")) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is a form (multipart/form-data), but must be JSON"));
  }
  const JsonDemand demand = DemandOf(text);
  if (demand.dense > kMaxJsonBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JSON has ", demand.dense, " bytes besides long strings; at most ", kMaxJsonBytes,
                     " are read; send values as binary data after it, and an image as base64, as raw bytes "
                     "with Inference-Header-Content-Length: 0, or to /v1/models/NAME:classify"));
  }
  if (demand.depth > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat("the JSON is nested deeper than ", kMaxDepth, " levels"));
  }
  if (document.Parse(text)) return absl::OkStatus();
  const size_t at = std::max<size_t>(document.wrong_byte(), 1);
  if (document.is_out_of_range()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has a number that is too large for a 64-bit float; it ends at byte ", at));
  }
  // Python's json.dumps writes these words, which JSON parsers reject.
  for (const char* word : {"NaN", "Infinity"}) {
    if (at > text.size() || !text.substr(at - 1).starts_with(word)) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " is not JSON: byte ", at, " begins ", word,
                                                   ", which JSON does not have; send such values as binary data"));
  }
  return absl::InvalidArgumentError(absl::StrCat(what, " is not JSON, from byte ", at, " on"));
}

absl::StatusOr<const nlohmann::json*> Member(const nlohmann::json& object, const char* name,
                                             bool (nlohmann::json::*is)() const noexcept, const char* wanted) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return nullptr;
  if (((*found).*is)()) return &*found;
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" must be ", wanted));
}

}  // namespace vitrine
