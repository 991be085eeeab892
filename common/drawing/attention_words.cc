// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/attention_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

struct AttentionRow {
  v1::AttentionKind kind;
  const char* name;
  const char* title;
  bool is_spatial;
};
constexpr AttentionRow kAttentionKinds[] = {
    {v1::CLASS_TOKEN_ROW, "class", "Attention of the class token", true},
    {v1::MEAN_OVER_QUERIES, "mean", "Attention, mean over all queries", true},
    {v1::ROLLOUT, "rollout", "Attention rollout", true},
    {v1::SCORES, "scores", "Scores before the softmax", false},
    {v1::WEIGHTS, "weights", "Attention between tokens", false},
    {v1::CLASS_ATTENTION, "class-attention", "Class attention", true},
    {v1::CROSS_COVARIANCE, "channels", "Cross-covariance attention", false},
    {v1::QUERY_ROW, "query", "Attention of one query", true},
    {v1::DISTANCE, "distance", "Attention distance", false},
};

struct FeatureRow {
  v1::FeatureKind kind;
  const char* name;
};
constexpr FeatureRow kFeatureKinds[] = {{v1::CLASS_TOKEN, "class"},
                                        {v1::MEAN_TOKEN, "mean"},
                                        {v1::PATCH_TOKENS, "patches"},
                                        {v1::REGISTER_TOKENS, "registers"},
                                        {v1::PROJECTION, "projection"}};

// Returns null for an unknown kind, which a newer server may send.
template <typename Row, size_t n>
const Row* RowOf(const Row (&rows)[n], decltype(Row::kind) kind) {
  for (const Row& row : rows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

// `contract`: name of the kind in the .proto file; empty if unknown.
template <typename Row, size_t n>
std::string NameOf(const Row (&rows)[n], decltype(Row::kind) kind, const std::string& contract) {
  if (const Row* row = RowOf(rows, kind)) return row->name;
  return contract.empty() ? absl::StrCat("kind-", static_cast<int>(kind)) : absl::AsciiStrToLower(contract);
}

template <typename Row, size_t n>
std::optional<decltype(Row::kind)> KindOf(const Row (&rows)[n], absl::string_view name) {
  for (const Row& row : rows) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

template <typename Row, size_t n>
const std::vector<std::string>* NamesOf(const Row (&rows)[n]) {
  auto* names = new std::vector<std::string>;
  for (const Row& row : rows) names->push_back(row.name);
  return names;
}

}  // namespace

std::string AttentionKindName(v1::AttentionKind kind) {
  return NameOf(kAttentionKinds, kind, v1::AttentionKind_Name(kind));
}

std::optional<v1::AttentionKind> AttentionKindOf(absl::string_view name) {
  return KindOf(kAttentionKinds, name);
}

const std::vector<std::string>& AttentionKindNames() {
  static const auto* const names = NamesOf(kAttentionKinds);
  return *names;
}

bool IsSpatial(v1::AttentionKind kind) {
  const AttentionRow* const row = RowOf(kAttentionKinds, kind);
  return row != nullptr && row->is_spatial;
}

std::string FeatureKindName(v1::FeatureKind kind) {
  return NameOf(kFeatureKinds, kind, v1::FeatureKind_Name(kind));
}

std::optional<v1::FeatureKind> FeatureKindOf(absl::string_view name) {
  return KindOf(kFeatureKinds, name);
}

const std::vector<std::string>& FeatureKindNames() {
  static const auto* const names = NamesOf(kFeatureKinds);
  return *names;
}

std::string AttentionTitle(v1::AttentionKind kind) {
  const AttentionRow* const row = RowOf(kAttentionKinds, kind);
  return row != nullptr ? row->title : absl::StrCat("Attention of kind ", static_cast<int>(kind));
}

std::string LayerInWords(int layer) {
  return layer < 0 ? "all layers" : absl::StrCat("layer ", layer);
}

std::string HeadInWords(int head) {
  return head < 0 ? "mean over heads" : absl::StrCat("head ", head);
}

std::string AnswerInWords(const v1::ClassifyResponse& answer) {
  std::string words = absl::StrCat(answer.served_by().model(), " version ", answer.served_by().version());
  if (answer.predictions().empty()) return words;
  const v1::Prediction& first = answer.predictions(0);
  const std::string label = first.label().empty() ? absl::StrCat("class ", first.index()) : first.label();
  return absl::StrCat(words, answer.unsure() ? ": unsure: " : ": ", label,
                      absl::StrFormat(" %.1f %%", 100 * first.probability()));
}

std::string KindInWords(const v1::AttentionRequest& asked, int grid_columns) {
  std::string words = AttentionTitle(asked.kind());
  if (asked.kind() == v1::QUERY_ROW && grid_columns > 0) {
    absl::StrAppend(&words, ", row ", asked.query() / grid_columns, ", column ", asked.query() % grid_columns);
  }
  return words;
}

std::string MapInWords(const v1::AttentionRequest& asked, int grid_columns, int layer, int head) {
  const std::string kind = KindInWords(asked, grid_columns);
  if (asked.kind() == v1::ROLLOUT) return kind;  // a rollout has neither layer nor head
  return absl::StrCat(kind, ", ", LayerInWords(layer), ", ", HeadInWords(head));
}

}  // namespace vitrine
