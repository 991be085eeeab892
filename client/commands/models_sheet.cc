// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models_sheet.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/output/text.h"
#include "client/lib/numbers.h"
#include "common/charts/html/html.h"
#include "common/charts/html/thumbnail.h"
#include "common/drawing/colour_range.h"
#include "common/drawing/overlay.h"
#include "common/drawing/share_bars.h"
#include "common/drawing/sheet.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kPageTileSide = 224;

// Colour ranges of the attention maps of all answers: one for unsigned maps, one for signed maps.
struct SharedRanges {
  ColourRange weights, diverging;
  const ColourRange& For(const v1::AttentionMap& map) const { return map.diverging() ? diverging : weights; }
};

const v1::AttentionMap* MapOf(const absl::StatusOr<v1::ClassifyResponse>& answer) {
  return answer.ok() && answer->attention_size() > 0 ? &answer->attention(0) : nullptr;
}

absl::StatusOr<SharedRanges> RangesOf(const ModelsSheet& sheet) {
  SharedRanges ranges;
  for (const ModelsSheet::Row& row : sheet.rows) {
    for (const auto& answer : row.answers) {
      const v1::AttentionMap* map = MapOf(answer);
      if (map == nullptr) continue;
      ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(*map));
      ColourRange& range = map->diverging() ? ranges.diverging : ranges.weights;
      range = Both(range, AttentionRange(values, int64_t{map->rows()} * map->columns(), map->diverging()));
    }
  }
  return ranges;
}

// Returns the largest number of predictions in an answer. Each tile has space for this number of bars, so all tiles
// have equal size.
size_t BarsOf(const ModelsSheet& sheet) {
  int bars = 0;
  for (const ModelsSheet::Row& row : sheet.rows) {
    for (const auto& answer : row.answers) {
      if (answer.ok()) bars = std::max(bars, answer->predictions_size());
    }
  }
  return static_cast<size_t>(bars);
}

std::vector<LabelledShare> SharesOf(const v1::ClassifyResponse& answer, size_t bars) {
  std::vector<LabelledShare> shares;
  for (const v1::Prediction& guess : answer.predictions()) {
    const std::string label = guess.label().empty() ? absl::StrCat("class ", guess.index()) : guess.label();
    shares.push_back({absl::StrCat(shares.empty() && answer.unsure() ? kUnsure : "", label),
                      std::clamp(static_cast<double>(guess.probability()), 0.0, 1.0)});
  }
  shares.resize(std::max(bars, shares.size()));
  return shares;
}

// Scales an attention map's rectangle from the sent image to the kept copy, which may be smaller.
v1::Rectangle OnKept(const v1::Rectangle& covers, const v1::Grid& grid, const Image& image) {
  const float across = static_cast<float>(image.width) / static_cast<float>(std::max(1, grid.image_width()));
  const float down = static_cast<float>(image.height) / static_cast<float>(std::max(1, grid.image_height()));
  v1::Rectangle kept;
  kept.set_left(covers.left() * across);
  kept.set_top(covers.top() * down);
  kept.set_width(std::min(covers.width() * across, static_cast<float>(image.width) - kept.left()));
  kept.set_height(std::min(covers.height() * down, static_cast<float>(image.height) - kept.top()));
  return kept;
}

absl::StatusOr<Image> AnswerTile(const Image& image, const v1::ClassifyResponse& answer, const std::string& line,
                                 const SharedRanges& ranges, size_t bars, int side) {
  const std::vector<LabelledShare> shares = SharesOf(answer, bars);
  if (answer.attention_size() == 0) return ComposeShareTile(image, line, shares, side);
  const v1::AttentionMap& map = answer.attention(0);
  ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
  const SpatialMap spatial{.rows = map.rows(),
                           .columns = map.columns(),
                           .values = values,
                           .covers = OnKept(map.covers(), answer.grid(), image),
                           .diverging = map.diverging(),
                           .range = ranges.For(map)};
  ASSIGN_OR_RETURN(const Image overlay,
                   ComposeOverlay(image, spatial, {.min_side = side, .max_side = side, .legend = false}));
  return ComposeShareTile(overlay, line, shares, side);
}

std::string NameOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Returns the predictions as text: "cat 91.2 %, dog 5.1 %" or "unsure: cat 41.2 %, dog 35.1 %".
std::string Guesses(const v1::ClassifyResponse& answer) {
  std::vector<std::string> guesses;
  for (const v1::Prediction& guess : answer.predictions()) {
    const char* unsure = guesses.empty() && answer.unsure() ? kUnsure : "";
    guesses.push_back(absl::StrFormat("%s%s %.1f %%", unsure, guess.label(), 100 * guess.probability()));
  }
  return absl::StrJoin(guesses, ", ");
}

std::string Scales(const SharedRanges& ranges) {
  std::vector<std::string> scales;
  if (ranges.weights.high > 0) scales.push_back(absl::StrCat("attention from ", ranges.weights.InWords()));
  if (ranges.diverging.high > 0) scales.push_back(absl::StrCat("of both signs ", ranges.diverging.InWords()));
  return scales.empty() ? "" : absl::StrCat("One scale for all maps: ", absl::StrJoin(scales, ", "));
}

absl::StatusOr<ImageCard> CardOf(const ModelsSheet& sheet, const ModelsSheet::Row& row, const SharedRanges& ranges,
                                 size_t bars) {
  ImageCard card;
  card.lines.push_back(Printable(row.path));
  if (row.image.has_value()) {
    ASSIGN_OR_RETURN(card.images.emplace_back(), Thumbnail(*row.image, kPageTileSide, "the image"));
  }
  for (size_t m = 0; m < sheet.models.size(); ++m) {
    const auto& answer = row.answers[m];
    const std::string& name = sheet.models[m].name;
    card.lines.push_back(
        absl::StrCat(name, ": ", answer.ok() ? Guesses(*answer) : Printable(answer.status().message())));
    if (!answer.ok() || !row.image.has_value()) continue;
    ASSIGN_OR_RETURN(const Image tile,
                     AnswerTile(*row.image, *answer, sheet.models[m].map, ranges, bars, kPageTileSide));
    ASSIGN_OR_RETURN(const std::string png, EncodePng(tile));
    card.images.push_back({.uri = DataUri("image/png", png), .caption = name});
  }
  return card;
}

}  // namespace

absl::Status CheckSheetRows(size_t images) {
  if (images <= kMostSheetRows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a PNG sheet shows at most ", kMostSheetRows, " images, not ", images,
                                                 "; give --out FILE.html, which has no limit"));
}

absl::StatusOr<std::string> DrawModelsSheet(const ModelsSheet& sheet) {
  ASSIGN_OR_RETURN(const SharedRanges ranges, RangesOf(sheet));
  const size_t bars = BarsOf(sheet);
  SheetFigure figure;
  figure.columns = {"the image"};
  for (const ModelsSheet::Model& model : sheet.models) figure.columns.push_back(model.name);
  RETURN_IF_ERROR(CheckSheetRows(sheet.rows.size()));
  const int columns = static_cast<int>(figure.columns.size());
  const int side = SheetTileSide(static_cast<int>(sheet.rows.size()), columns);
  for (const ModelsSheet::Row& row : sheet.rows) {
    if (!row.image.has_value()) continue;  // unreadable; only ModelsSheetPage gives the reason
    figure.rows.push_back(NameOf(row.path));
    ASSIGN_OR_RETURN(figure.tiles.emplace_back(),
                     ComposeShareTile(*row.image, "", std::vector<LabelledShare>(bars), side));
    for (size_t m = 0; m < sheet.models.size(); ++m) {
      Image& tile = figure.tiles.emplace_back();
      if (!row.answers[m].ok()) continue;
      ASSIGN_OR_RETURN(tile, AnswerTile(*row.image, *row.answers[m], sheet.models[m].map, ranges, bars, side));
    }
  }
  if (figure.rows.empty()) return absl::InvalidArgumentError("no image could be read; there is nothing to draw");
  figure.title = "Where the models looked, and what they saw";
  figure.note = Scales(ranges);
  if (ranges.weights.high > 0) figure.range = ranges.weights;
  return DrawSheet(figure);
}

absl::StatusOr<std::string> ModelsSheetPage(const ModelsSheet& sheet) {
  ASSIGN_OR_RETURN(const SharedRanges ranges, RangesOf(sheet));
  const size_t bars = BarsOf(sheet);
  HtmlPage page("Models side by side",
                absl::StrCat(sheet.rows.size(), sheet.rows.size() == 1 ? " image, " : " images, ", sheet.models.size(),
                             sheet.models.size() == 1 ? " model" : " models"));
  HtmlTable models{.columns = {{"model"}, {"map"}}};
  for (const ModelsSheet::Model& model : sheet.models) models.rows.push_back({model.name, model.map});
  page.Section("Models", Scales(ranges));
  page.Table(models);
  page.Section("Images", "Bars are probabilities, from 0 to 100 %.");
  std::vector<ImageCard> cards;
  for (const ModelsSheet::Row& row : sheet.rows) {
    ASSIGN_OR_RETURN(cards.emplace_back(), CardOf(sheet, row, ranges, bars));
  }
  page.Cards(cards);
  return page.Print();
}

}  // namespace vitrine
