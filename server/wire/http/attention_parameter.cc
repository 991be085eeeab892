// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/attention_parameter.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/drawing/attention_words.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "models/attention_request.h"

namespace vitrine {
namespace {

absl::StatusOr<v1::AttentionKind> KindOfWord(const std::string& word) {
  if (const std::optional<v1::AttentionKind> kind = AttentionKindOf(word)) return *kind;
  return absl::InvalidArgumentError(absl::StrCat("parameter attention names the kind \"", Shown(word),
                                                 "\", which is unknown; valid kinds are ",
                                                 absl::StrJoin(AttentionKindNames(), ", ")));
}

absl::StatusOr<AttentionNumbers> NumbersOf(const std::string& text, const char* what) {
  AttentionNumbers requested;
  requested.all = text == "all";
  if (requested.all || text.empty()) return requested;
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  for (const std::string& part : parts) {
    if (absl::SimpleAtoi(part, &requested.numbers.emplace_back())) continue;
    return absl::InvalidArgumentError(absl::StrCat("parameter attention has \"", Shown(text), "\" for ", what,
                                                   "; give comma-separated numbers, as in 0,-1, or all"));
  }
  return requested;
}

absl::Status ReadPatch(const std::string& text, AttentionParameter& requested) {
  if (requested.kind != v1::QUERY_ROW) {
    return absl::InvalidArgumentError(absl::StrCat("parameter attention names patch \"", Shown(text),
                                                   "\" for the kind ", AttentionKindName(requested.kind),
                                                   "; only query has one"));
  }
  if (!absl::SimpleAtoi(text, &requested.patch) || requested.patch < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter attention has \"", Shown(text),
                     "\" for the patch; give row * columns + column of the grid, as in query:-1::27"));
  }
  return absl::OkStatus();
}

void Put(const AttentionNumbers& requested, int count, google::protobuf::RepeatedField<int32_t>& field) {
  field.Add(requested.numbers.begin(), requested.numbers.end());
  for (int i = 0; requested.all && i < count; ++i) field.Add(i);
}

}  // namespace

absl::StatusOr<AttentionParameter> ParseAttentionParameter(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(absl::string_view(text.data(), text.size()), ':');
  constexpr size_t kParts = 4;
  if (parts.size() > kParts) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter attention is \"", Shown(text),
                     "\"; it must be KIND, KIND:LAYERS or KIND:LAYERS:HEADS, as in mean:0,-1:all, or "
                     "query:LAYERS:HEADS:PATCH"));
  }
  AttentionParameter requested;
  ASSIGN_OR_RETURN(requested.kind, KindOfWord(parts[0]));
  if (parts.size() > 1) {
    ASSIGN_OR_RETURN(requested.layers, NumbersOf(parts[1], "layers"));
  }
  if (parts.size() > 2) {
    ASSIGN_OR_RETURN(requested.heads, NumbersOf(parts[2], "heads"));
  }
  if (parts.size() == kParts) {
    RETURN_IF_ERROR(ReadPatch(parts[3], requested));
  }
  return requested;
}

absl::StatusOr<v1::AttentionRequest> AttentionOf(const AttentionParameter& requested, const AttentionAbility& ability,
                                                 std::optional<v1::AttentionEncoding> encoding) {
  const AttentionAbility::Offer* offer = ability.Find(requested.kind);
  if (offer == nullptr) {
    std::vector<std::string> words;
    for (const AttentionAbility::Offer& each : ability.offers) words.push_back(AttentionKindName(each.kind));
    return absl::InvalidArgumentError(
        absl::StrCat("this model has no attention of kind ", AttentionKindName(requested.kind),
                     words.empty() ? "; it has no attention" : absl::StrCat("; it has ", absl::StrJoin(words, ", "))));
  }
  const bool on_image = FormOf(requested.kind) == AttentionForm::kGrid;
  if (encoding == v1::OVERLAY_PNG && !on_image) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention of kind ", AttentionKindName(requested.kind),
                     " is no map of the image and cannot be drawn on it; leave attention_encoding out, or set it "
                     "to float"));
  }
  v1::AttentionRequest request;
  request.set_kind(requested.kind);
  request.set_encoding(encoding.value_or(on_image ? v1::OVERLAY_PNG : v1::FLOAT32));
  if (requested.kind == v1::QUERY_ROW) request.set_query(requested.patch);
  Put(requested.layers, offer->layers, *request.mutable_layers());
  Put(requested.heads, offer->heads, *request.mutable_heads());
  return request;
}

}  // namespace vitrine
