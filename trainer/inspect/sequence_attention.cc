// SPDX-License-Identifier: Apache-2.0
#include "trainer/inspect/sequence_attention.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/html/html.h"
#include "common/charts/shaded_matrix.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/matrix.h"
#include "common/drawing/sheet.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns {`index`}, or all numbers from 0 to `count` - 1 if `index` is nullopt. INVALID_ARGUMENT if `index` is outside
// this range; the message names `flag`.
absl::StatusOr<std::vector<int>> Chosen(const char* flag, std::optional<int> index, int count) {
  if (index && (*index < 0 || *index >= count)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " ", *index, " does not exist; the model has 0 to ", count - 1));
  }
  std::vector<int> chosen;
  for (int i = index.value_or(0); i < (index ? *index + 1 : count); ++i) chosen.push_back(i);
  return chosen;
}

absl::StatusOr<std::vector<int>> ChosenHeads(const std::string& head, int count) {
  if (head.empty()) return Chosen("--head", std::nullopt, count);
  int index = 0;
  if (absl::SimpleAtoi(head, &index)) return Chosen("--head", index, count);
  if (head == "mean") return std::vector<int>{-1};
  return absl::InvalidArgumentError(absl::StrCat("--head ", head, ": give the index of a head, or mean"));
}

// Returns the matrix of one head of [heads, queries, keys], or the mean over heads if `head` is negative.
std::vector<float> HeadOf(const FloatArray& all, int head) {
  if (head < 0) return MeanOfRows(all.values, all.shape[1] * all.shape[2]);
  return {all[head].begin(), all[head].end()};
}

std::string PartInWords(const SequenceMap& map) {
  return absl::StrCat("layer ", map.layer, map.part.empty() ? "" : ", ", map.part);
}

// Returns an image with one square for each value of a map. `side` is the length of the longer side in pixels.
absl::StatusOr<Image> SquaresOf(const SequenceMap& map, const ColourRange& range, size_t side) {
  return ComposeMatrix({.rows = static_cast<int>(map.queries.size()),
                        .columns = static_cast<int>(map.keys.size()),
                        .values = map.values,
                        .range = range},
                       static_cast<int>(side));
}

// Returns a map as SVG code. The squares are a small PNG with one pixel per value. Sets `panel` to the chart around the
// squares, because the caller needs the chart's size.
absl::StatusOr<std::string> Panel(const SequenceMap& map, const ColourRange& range, Chart& panel) {
  ShadedMatrix matrix{.title = absl::StrCat(PartInWords(map), ", ", HeadInWords(map.head))};
  matrix.row_axis = "query", matrix.column_axis = "key";
  matrix.rows = map.queries, matrix.columns = map.keys;
  panel = FrameOf(matrix, /*side=*/280);
  panel.is_file = true;  // the SVG element then states its size
  std::string svg = panel.Begin();
  ASSIGN_OR_RETURN(const Image squares, SquaresOf(map, range, std::max(map.queries.size(), map.keys.size())));
  ASSIGN_OR_RETURN(const std::string png, EncodePng(squares));
  absl::StrAppendFormat(&svg,
                        "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" preserveAspectRatio=\"none\" "
                        "style=\"image-rendering:pixelated\" href=\"%s\"/>\n",
                        panel.Left(), panel.Top(), panel.Right() - panel.Left(), panel.Bottom() - panel.Top(),
                        DataUri("image/png", png));
  return svg + Chart::End();
}

absl::StatusOr<std::string> Svg(const SequenceFigure& figure, const ColourRange& range, size_t columns) {
  constexpr double kMargin = 16, kHead = 56;
  Chart page{.title = figure.title, .is_file = true};
  page.note =
      absl::StrCat(figure.note, "; ", range.diverging ? "blue to red" : "black to yellow", ": ", range.InWords());
  page.width = 82 + 7.5 * static_cast<double>(std::max(page.title.size(), page.note.size()));
  page.height = kHead + kMargin;
  std::string panels;
  double x = 0, y = 0;
  for (size_t i = 0; i < figure.maps.size(); ++i) {
    if (i % columns == 0) x = kMargin, y = page.height - kMargin;
    Chart panel;
    ASSIGN_OR_RETURN(const std::string svg, Panel(figure.maps[i], range, panel));
    absl::StrAppendFormat(&panels, "<g transform=\"translate(%g %g)\">%s</g>\n", x, y, svg);
    x += panel.width;
    page.width = std::max(page.width, x + kMargin);
    page.height = std::max(page.height, y + panel.height + kMargin);
  }
  return absl::StrCat(page.Opening(), panels, Chart::End());
}

absl::StatusOr<std::string> Png(const SequenceFigure& figure, const ColourRange& range, size_t columns) {
  constexpr size_t kPerName = 12, kWidest = 8000, kLeastAlone = 384;
  size_t side = kLeastAlone;
  if (figure.maps.size() > 1) {
    side = SheetTileSide(static_cast<int>(figure.maps.size() / columns), static_cast<int>(columns));
  }
  for (const SequenceMap& map : figure.maps) {
    side = std::max({side, kPerName * map.queries.size(), kPerName * map.keys.size()});
  }
  SheetFigure sheet{.title = figure.title, .note = figure.note, .range = range};
  for (size_t i = 0; i < figure.maps.size(); ++i) {
    const SequenceMap& map = figure.maps[i];
    if (i < columns) sheet.columns.push_back(HeadInWords(map.head));
    if (i % columns == 0) sheet.rows.push_back(PartInWords(map));
    ASSIGN_OR_RETURN(const Image squares, SquaresOf(map, range, std::min(side, kWidest / columns)));
    sheet.tiles.push_back(WithNames(squares, map.queries, map.keys));
  }
  return DrawSheet(sheet);
}

std::string Json(const SequenceFigure& figure) {
  // This JSON type prints a float with the fewest digits that give the same value.
  using Value = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, float>;
  Value maps = Value::array();
  for (const SequenceMap& map : figure.maps) {
    maps.push_back({{"layer", map.layer},
                    {"head", map.head < 0 ? Value() : Value(map.head)},
                    {"part", map.part},
                    {"queries", map.queries},
                    {"keys", map.keys},
                    {"rows", map.queries.size()},
                    {"columns", map.keys.size()},
                    {"values", map.values}});
  }
  const Value file = {{"title", figure.title}, {"note", figure.note}, {"maps", maps}};
  return file.dump(-1, ' ', false, Value::error_handler_t::replace) + "\n";
}

}  // namespace

absl::StatusOr<std::vector<SequenceMap>> CollectMaps(const SequenceModel& model, const NamedSequence& sequence,
                                                     const MapChoice& choice) {
  const int depth = model.config().depth();
  const bool pair = model.config().has_pair();
  ASSIGN_OR_RETURN(const std::vector<int> layers, Chosen("--layer", choice.layer, pair ? 3 * depth : depth));
  ASSIGN_OR_RETURN(const std::vector<int> heads, ChosenHeads(choice.head, model.config().heads()));
  AttentionTap tap;
  for (const int layer : layers) tap.Request(0, AttentionSource::kTokens, layer);
  RETURN_IF_ERROR(RunSequenceModel(model, sequence.batch, &tap).status());
  std::vector<SequenceMap> maps;
  for (const int layer : layers) {
    const AttentionTap::Matrices* all = tap.Find(0, AttentionSource::kTokens, layer);
    if (all == nullptr) return absl::InternalError(absl::StrCat("layer ", layer, " returned no attention"));
    const int part = layer / depth;
    for (const int head : heads) {
      maps.push_back({.layer = layer,
                      .head = head,
                      .part = !pair       ? ""
                              : part == 0 ? "source"
                              : part == 1 ? "target"
                                          : "target to source",
                      .queries = part == 0 ? sequence.source : sequence.target,
                      .keys = part == 1 ? sequence.target : sequence.source,
                      .values = HeadOf(choice.scores ? all->scores : all->weights, head)});
    }
  }
  return maps;
}

absl::StatusOr<std::string> SequenceFigureFile(const SequenceFigure& figure, const std::string& kind) {
  if (kind == "json") return Json(figure);
  ColourRange range;
  for (const SequenceMap& map : figure.maps) {
    const int64_t keys = figure.scores ? 0 : static_cast<int64_t>(map.keys.size());
    range = Both(range, AttentionRange(map.values, keys, figure.scores));
  }
  const auto columns =
      static_cast<size_t>(std::ranges::count(figure.maps, figure.maps.front().layer, &SequenceMap::layer));
  return kind == "svg" ? Svg(figure, range, columns) : Png(figure, range, columns);
}

}  // namespace vitrine
