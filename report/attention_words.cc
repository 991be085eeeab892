// SPDX-License-Identifier: Apache-2.0
#include "report/attention_words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

struct Title {
  v1::AttentionKind kind;
  const char* text;
};
constexpr Title kTitles[] = {
    {v1::CLASS_TOKEN_ROW, "Attention of the class token"},
    {v1::MEAN_OVER_QUERIES, "Attention, mean over all queries"},
    {v1::ROLLOUT, "Attention rollout"},
    {v1::SCORES, "Scores before the softmax"},
    {v1::WEIGHTS, "Attention between tokens"},
    {v1::CLASS_ATTENTION, "Class attention"},
    {v1::CROSS_COVARIANCE, "Cross-covariance attention"},
    {v1::QUERY_ROW, "Attention of one query"},
    {v1::DISTANCE, "Attention distance"},
};

}  // namespace

std::string AttentionTitle(v1::AttentionKind kind) {
  for (const Title& title : kTitles) {
    if (title.kind == kind) return title.text;
  }
  return absl::StrCat("Attention of kind ", static_cast<int>(kind));  // of a newer server
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
  if (asked.kind() == v1::ROLLOUT) return kind;  // of all layers and heads
  return absl::StrCat(kind, ", ", LayerInWords(layer), ", ", HeadInWords(head));
}

}  // namespace vitrine
