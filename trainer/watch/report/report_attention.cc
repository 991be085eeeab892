// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/charts/distance_plot.h"
#include "common/charts/shaded_matrix.h"
#include "common/statistics/head_diversity.h"
#include "common/status_macros.h"
#include "trainer/watch/report/look.h"
#include "trainer/watch/report/report_sections.h"

namespace vitrine {
namespace {

constexpr int64_t kDistanceImages = 64;
constexpr int kExampleLayers = 4;
constexpr size_t kMostCodes = 48;  // maximum number of sets of codes; a model has one set per block or one in all

std::string KindInWords(v1::AttentionKind kind) {
  switch (kind) {
    case v1::CLASS_ATTENTION:
      return "the class query's attention";
    case v1::CLASS_TOKEN_ROW:
      return "the class token's attention";
    default:
      return "attention, mean over queries";
  }
}

// Draws the cosines between the codes of q, k and v, [3, code_length], and the norms of the codes.
std::string CosineMatrix(const std::string& name, const at::Tensor& codes) {
  static constexpr const char* kParts[] = {"C_q", "C_k", "C_v"};
  const at::Tensor norms = at::linalg_vector_norm(codes, 2, 1);
  const at::Tensor directions = codes / norms.unsqueeze(1).clamp_min(1e-12);
  const at::Tensor cosines = directions.matmul(directions.t());
  ShadedMatrix matrix;
  matrix.title = name;
  matrix.note = "cosine similarity; below the names, the norms";
  for (int i = 0; i < 3; ++i) {
    matrix.rows.push_back(kParts[i]);
    matrix.columns.push_back(absl::StrFormat("%s |%.2f|", kParts[i], norms[i].item<double>()));
    for (int j = 0; j < 3; ++j) {
      const double cosine = cosines[i][j].item<double>();
      matrix.cells.push_back({.shade = cosine,
                              .text = absl::StrFormat("%.3f", cosine),
                              .tip = absl::StrFormat("cosine of %s and %s: %.4f", kParts[i], kParts[j], cosine)});
    }
  }
  return DrawShadedMatrix(matrix);
}

}  // namespace

absl::Status AddExamples(const TrainingReportInput& input, const Examination& examination, std::optional<Size> size,
                         HtmlPage& page) {
  const AttentionAbility ability = input.model->attention();
  const AttentionAbility::Offer* offer = SpatialAttention(ability);
  if (offer == nullptr || examination.examples.empty()) return absl::OkStatus();
  page.Section("Attention", absl::StrCat("One ", input.score.split, " image for each of ", examination.examples.size(),
                                         " classes with ", KindInWords(offer->kind), ", mean over heads: ",
                                         ability.diverging ? "red above 0, blue below" : "bright means high",
                                         ", on a scale of each layer's own, below its image; ",
                                         std::min(kExampleLayers, offer->layers), " of ", offer->layers, " layers."));
  std::vector<ImageCard> cards;
  for (const int64_t index : examination.examples) {
    ImageCard& card = cards.emplace_back();
    ASSIGN_OR_RETURN(card.images, LookAt(*input.model, *input.test, index, size, kExampleLayers));
    card.lines = {input.test->labels()[static_cast<size_t>(input.test->label(index))]};
  }
  page.Cards(cards);
  return absl::OkStatus();
}

absl::Status AddDistances(const TrainingReportInput& input, std::optional<Size> size, HtmlPage& page) {
  ASSIGN_OR_RETURN(const std::optional<Distances> distances,
                   MeasureDistances(*input.model, *input.test, size, kDistanceImages));
  if (!distances) return absl::OkStatus();
  DistanceFigure figure;
  figure.layers.resize(static_cast<size_t>(distances->layers));
  figure.heads.resize(static_cast<size_t>(distances->heads));
  std::iota(figure.layers.begin(), figure.layers.end(), 0);
  std::iota(figure.heads.begin(), figure.heads.end(), 0);
  const std::vector<float> pixels(distances->pixels.begin(), distances->pixels.end());
  figure.distances = pixels;
  figure.title = "Attention distance by layer, one dot per head";
  figure.note =
      absl::StrCat("mean over ", distances->images, " ", input.score.split, " images; bars: means over heads");
  if (distances->uniform) figure.references = {{*distances->uniform, "uniform attention"}};
  ASSIGN_OR_RETURN(const std::string svg, DrawDistancePlot(figure));
  page.Section("Attention distance", "Mean attention distance of heads, in pixels of the input.");
  page.Charts({absl::StrCat("<img class=\"chart\" alt=\"", EscapeHtml(figure.title), "\" src=\"",
                            DataUri("image/svg+xml", svg), "\">")});
  const HeadDiversity heads = DiversityOf(distances->pixels, distances->heads);
  if (heads.diversity) page.Paragraph(DiversityInWords(*heads.diversity));
  HtmlTable table{.columns = {{"layer"}, {"mean, pixels", true}, {"deviation over heads", true}}};
  for (size_t layer = 0; layer < heads.means.size(); ++layer) {
    table.rows.push_back({absl::StrCat(layer), absl::StrFormat("%.2f", heads.means[layer]),
                          absl::StrFormat("%.2f", heads.deviations[layer])});
  }
  page.Table(table);
  return absl::OkStatus();
}

void AddCodes(const Model& model, HtmlPage& page) {
  std::vector<std::string> charts;
  for (const NamedTensor& parameter : model.Parameters()) {
    const bool is_codes = parameter.name == "codes" || absl::EndsWith(parameter.name, ".codes");
    if (!is_codes || parameter.tensor.dim() != 2 || parameter.tensor.size(0) != 3) continue;
    if (charts.size() == kMostCodes) break;
    charts.push_back(CosineMatrix(parameter.name, parameter.tensor.detach()));
  }
  if (charts.empty()) return;
  page.Section("Codes",
               "The codes from which one network computes queries, keys and values. With cosines near 0, the three are "
               "unrelated; with equal codes they would be equal.");
  page.Charts(charts);
}

}  // namespace vitrine
