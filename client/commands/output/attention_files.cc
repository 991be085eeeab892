// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/attention_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/output/distance_files.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/colour_range.h"
#include "common/drawing/figure.h"
#include "common/drawing/matrix.h"
#include "common/drawing/overlay.h"
#include "common/drawing/sheet.h"
#include "common/file/write.h"
#include "common/imaging/decode.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Decodes the image when the first attention map needs it.
class LazyImage {
 public:
  explicit LazyImage(std::string_view encoded) : encoded_(encoded) {}
  absl::StatusOr<const Image*> Get() {
    if (!image_.has_value()) {
      ASSIGN_OR_RETURN(image_, Decode(encoded_));
    }
    return &*image_;
  }

 private:
  std::string_view encoded_;
  std::optional<Image> image_;
};

// Returns the argument `keys` of AttentionRange: the number of keys of a query; 0 if the values are not weights.
int64_t KeysOf(const v1::AttentionMap& map) {
  if (map.kind() == v1::SCORES) return 0;
  return map.has_covers() ? int64_t{map.rows()} * map.columns() : map.columns();
}

// Writes the drawings of one answer.
class Drawings {
 public:
  Drawings(const AttentionFiles& files, const v1::ClassifyRequest& asked, std::string_view encoded,
           const v1::ClassifyResponse& answer)
      : files_(files), asked_(asked), answer_(answer), original_(encoded) {}

  absl::StatusOr<std::string> WriteOne(const v1::AttentionMap& map) {
    const v1::AttentionRequest asked = RequestOf(map.kind());
    ASSIGN_OR_RETURN(const std::string drawing, Draw(map, asked));
    return Write(AttentionFileName(files_.stem, map, asked), drawing);
  }

  absl::StatusOr<std::string> WriteSheet(const std::vector<const v1::AttentionMap*>& maps) {
    const v1::AttentionRequest asked = RequestOf(maps.front()->kind());
    SheetFigure figure{.title = Kind(asked), .note = Note()};
    std::vector<int> layers, heads;
    const auto place = [](std::vector<int>& numbers, int number) {
      const auto found = std::ranges::find(numbers, number);
      if (found == numbers.end()) numbers.push_back(number);
    };
    for (const v1::AttentionMap* map : maps) {
      place(layers, map->layer());
      place(heads, map->head());
    }
    for (const int layer : layers) figure.rows.push_back(LayerInWords(layer));
    for (const int head : heads) figure.columns.push_back(HeadInWords(head));
    figure.tiles.resize(layers.size() * heads.size());
    const int side = SheetTileSide(static_cast<int>(layers.size()), static_cast<int>(heads.size()));
    for (const v1::AttentionMap* map : maps) {
      const size_t row = static_cast<size_t>(std::ranges::find(layers, map->layer()) - layers.begin());
      const size_t column = static_cast<size_t>(std::ranges::find(heads, map->head()) - heads.begin());
      ASSIGN_OR_RETURN(figure.tiles[row * heads.size() + column], Tile(*map, asked, side));
    }
    ASSIGN_OR_RETURN(figure.range, RangeOfKind(asked.kind()));
    ASSIGN_OR_RETURN(figure.image, original_.Get());
    ASSIGN_OR_RETURN(const std::string drawing, DrawSheet(figure));
    return Write(SheetFileName(files_.stem, asked), drawing);
  }

  // Draws the image itself in the first column, then a column for each kind.
  absl::StatusOr<std::string> WriteSideBySide(const std::vector<std::vector<const v1::AttentionMap*>>& kinds) {
    SheetFigure figure{.title = Guesses(), .note = Note()};
    size_t rows = 1;
    for (const auto& maps : kinds) rows = std::max(rows, maps.size());
    const size_t columns = kinds.size() + 1;
    const int side = 2 * SheetTileSide(2 * static_cast<int>(rows), 2 * static_cast<int>(columns));
    figure.columns = {"the image"};
    figure.tiles.resize(rows * columns);
    ASSIGN_OR_RETURN(const Image* original, original_.Get());
    figure.tiles[0] = ScaledToSide(*original, side);
    std::vector<std::vector<std::string>> captions(rows);  // captions of each row, without duplicates
    for (size_t column = 1; column < columns; ++column) {
      const std::vector<const v1::AttentionMap*>& maps = kinds[column - 1];
      const v1::AttentionRequest asked = RequestOf(maps.front()->kind());
      figure.columns.push_back(Kind(asked));
      for (size_t row = 0; row < maps.size(); ++row) {
        const std::string caption =
            absl::StrCat(LayerInWords(maps[row]->layer()), ", ", HeadInWords(maps[row]->head()));
        if (rows == 1 && maps[row]->kind() != v1::ROLLOUT) absl::StrAppend(&figure.columns.back(), ", ", caption);
        const bool told = std::ranges::find(captions[row], caption) != captions[row].end();
        if (!told && maps[row]->kind() != v1::ROLLOUT) captions[row].push_back(caption);
        ASSIGN_OR_RETURN(figure.tiles[row * columns + column], Tile(*maps[row], asked, side));
      }
      // Each kind has its own range, because the values of the kinds differ in sum and sign.
      ASSIGN_OR_RETURN(const ColourRange range, RangeOfKind(asked.kind()));
      absl::StrAppend(&figure.columns.back(), ", ", range.InWords());
    }
    for (const auto& caption : captions) figure.rows.push_back(rows == 1 ? "" : absl::StrJoin(caption, " / "));
    ASSIGN_OR_RETURN(const std::string drawing, DrawSheet(figure));
    return Write(SideBySideFileName(files_.stem), drawing);
  }

 private:
  // Returns the first three predictions as text: "cat 91.2 %, dog 5.1 %, deer 1.2 %".
  std::string Guesses() const {
    std::vector<std::string> guesses;
    for (int i = 0; i < std::min(3, answer_.predictions_size()); ++i) {
      const v1::Prediction& guess = answer_.predictions(i);
      guesses.push_back(absl::StrFormat("%s %.1f %%", guess.label(), 100 * guess.probability()));
    }
    return absl::StrJoin(guesses, ", ");
  }

  // Returns the request for a kind. A kind is requested only once.
  v1::AttentionRequest RequestOf(v1::AttentionKind kind) const {
    for (const v1::AttentionRequest& request : asked_.attention()) {
      if (request.kind() == kind) return request;
    }
    v1::AttentionRequest unknown;
    unknown.set_kind(kind);
    return unknown;
  }

  std::string Kind(const v1::AttentionRequest& asked) const { return KindInWords(asked, answer_.grid().columns()); }

  std::string Note() const { return absl::StrCat(files_.stem, ", ", AnswerInWords(answer_)); }

  // Returns one range for all maps of a kind in the answer, so that their drawings can be compared.
  absl::StatusOr<ColourRange> RangeOfKind(v1::AttentionKind kind) {
    if (const auto known = ranges_.find(kind); known != ranges_.end()) return known->second;
    ColourRange range;
    for (const v1::AttentionMap& map : answer_.attention()) {
      if (map.kind() != kind || map.encoding() == v1::OVERLAY_PNG) continue;
      ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
      range = Both(range, AttentionRange(values, KeysOf(map), map.diverging()));
    }
    return ranges_[kind] = range;
  }

  bool ClassTokenFirst(const v1::AttentionMap& map) const {
    return map.rows() == answer_.grid().rows() * answer_.grid().columns() + 1;
  }

  MatrixFigure FigureOf(const v1::AttentionMap& map, const std::vector<float>& values, const ColourRange& range) const {
    MatrixFigure figure{.rows = map.rows(), .columns = map.columns(), .values = values};
    const bool channels = map.kind() == v1::CROSS_COVARIANCE;
    const std::string first = !channels && ClassTokenFirst(map) ? " (0 is the class token)" : "";
    figure.title = AttentionTitle(map.kind());
    figure.note = absl::StrCat(LayerInWords(map.layer()), ", ", HeadInWords(map.head()), ", ", Note());
    figure.range = range;
    figure.row_axis = channels ? "channels of q" : absl::StrCat("queries", first);
    figure.column_axis = channels ? "channels of k" : absl::StrCat("keys", first);
    return figure;
  }

  SpatialMap SpatialOf(const v1::AttentionMap& map, const v1::AttentionRequest& asked, const std::vector<float>& values,
                       const ColourRange& range) const {
    return {
        .rows = map.rows(),
        .columns = map.columns(),
        .values = values,
        .covers = map.covers(),
        .marked = map.kind() == v1::QUERY_ROW ? asked.query() : -1,
        .range = range,
        .caption = absl::StrCat(MapInWords(asked, answer_.grid().columns(), map.layer(), map.head()), "\n", Note())};
  }

  absl::StatusOr<std::string> Draw(const v1::AttentionMap& map, const v1::AttentionRequest& asked) {
    if (map.encoding() == v1::OVERLAY_PNG) return map.values();
    if (map.kind() == v1::DISTANCE) return DrawDistance(map, asked, answer_, Note(), files_.signed_attention);
    ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
    ASSIGN_OR_RETURN(const ColourRange range, RangeOfKind(map.kind()));
    if (!map.has_covers()) return DrawMatrix(FigureOf(map, values, range));
    ASSIGN_OR_RETURN(const Image* image, original_.Get());
    return DrawOverlay(*image, SpatialOf(map, asked, values, range));
  }

  absl::StatusOr<Image> Tile(const v1::AttentionMap& map, const v1::AttentionRequest& asked, int side) {
    ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
    ASSIGN_OR_RETURN(const ColourRange range, RangeOfKind(map.kind()));
    if (!map.has_covers()) return ComposeMatrix(FigureOf(map, values, range), side);
    ASSIGN_OR_RETURN(const Image* image, original_.Get());
    const SpatialMap spatial = SpatialOf(map, asked, values, range);
    return ComposeOverlay(*image, spatial, {.min_side = side, .max_side = side, .legend = false});
  }

  absl::StatusOr<std::string> Write(const std::string& name, const std::string& drawing) const {
    std::string path = (std::filesystem::path(files_.folder) / name).string();
    RETURN_IF_ERROR(WriteFile(path, drawing));
    return path;
  }

  const AttentionFiles& files_;
  const v1::ClassifyRequest& asked_;
  const v1::ClassifyResponse& answer_;
  LazyImage original_;
  std::map<v1::AttentionKind, ColourRange> ranges_;
};

}  // namespace

std::string AttentionFileName(const std::string& stem, const v1::AttentionMap& map, const v1::AttentionRequest& asked) {
  if (map.kind() == v1::DISTANCE) return absl::StrCat(stem, ".", AttentionKindName(map.kind()), ".svg");
  const std::string query = map.kind() == v1::QUERY_ROW ? absl::StrCat(asked.query()) : "";
  const std::string layer = map.layer() < 0 ? "" : absl::StrCat(".layer", map.layer());
  const std::string head = map.head() < 0 ? "" : absl::StrCat(".head", map.head());
  return absl::StrCat(stem, ".", AttentionKindName(map.kind()), query, layer, head, ".png");
}

std::string SideBySideFileName(const std::string& stem) {
  return absl::StrCat(stem, ".attention.png");
}

std::string SheetFileName(const std::string& stem, const v1::AttentionRequest& asked) {
  const std::string query = asked.kind() == v1::QUERY_ROW ? absl::StrCat(asked.query()) : "";
  return absl::StrCat(stem, ".", AttentionKindName(asked.kind()), query, ".sheet.png");
}

absl::StatusOr<std::vector<std::string>> WriteAttention(const AttentionFiles& files, const v1::ClassifyRequest& asked,
                                                        std::string_view encoded, const v1::ClassifyResponse& answer) {
  Drawings drawings(files, asked, encoded, answer);
  std::map<int, std::vector<const v1::AttentionMap*>> by_kind;
  for (const v1::AttentionMap& map : answer.attention()) by_kind[map.kind()].push_back(&map);
  std::map<int, std::string> sheets;
  if (files.side_by_side) {
    std::vector<std::vector<const v1::AttentionMap*>> columns;
    for (const v1::AttentionRequest& request : asked.attention()) {
      if (request.kind() != v1::DISTANCE && by_kind.contains(request.kind()))
        columns.push_back(by_kind[request.kind()]);
    }
    if (!columns.empty()) {
      ASSIGN_OR_RETURN(const std::string file, drawings.WriteSideBySide(columns));
      for (const auto& column : columns) sheets[column.front()->kind()] = file;
    }
  }
  std::vector<std::string> paths;
  for (const v1::AttentionMap& map : answer.attention()) {
    const std::vector<const v1::AttentionMap*>& same = by_kind[map.kind()];
    if (files.sheet && same.size() > 1 && !sheets.contains(map.kind())) {
      ASSIGN_OR_RETURN(sheets[map.kind()], drawings.WriteSheet(same));
    }
    if (sheets.contains(map.kind())) {
      paths.push_back(sheets[map.kind()]);
    } else {
      ASSIGN_OR_RETURN(std::string path, drawings.WriteOne(map));
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

}  // namespace vitrine
