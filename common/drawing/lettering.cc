// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/lettering.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/drawing/font.h"
#include "common/utf8.h"

#define STBTT_STATIC
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb/stb_truetype.h>

namespace vitrine {
namespace {

constexpr size_t kMostCharacters = 1000;  // maximum number of characters that are drawn of one text
constexpr size_t kMostLines = 64;

// Returns the font. Functions of stb_truetype only read it, so threads may share it.
const stbtt_fontinfo& Font() {
  static const stbtt_fontinfo font = [] {
    stbtt_fontinfo info;
    stbtt_InitFont(&info, vitrine_font, 0);
    return info;
  }();
  return font;
}

// Returns the factor from units of the font to pixels.
float ScaleOf(int height) {
  static const int capital = [] {
    int left, bottom, right, top = 1;
    stbtt_GetCodepointBox(&Font(), 'H', &left, &bottom, &right, &top);
    return top;
  }();
  return static_cast<float>(height) / static_cast<float>(capital);
}

struct Glyph {
  int index;          // number of the glyph in the font
  float left, right;  // position and end, in pixels from the beginning of the text
  size_t end;         // bytes of the text up to and including this character
};

// Calls `use` with each glyph of the text until `use` returns false.
template <typename Use>
void ForEachGlyph(std::string_view text, int height, const Use& use) {
  const stbtt_fontinfo& font = Font();
  const float scale = ScaleOf(height);
  const size_t bytes = text.size();
  Glyph glyph = {};
  for (size_t i = 0; i < kMostCharacters && !text.empty(); ++i) {
    const int before = glyph.index;
    glyph.index = stbtt_FindGlyphIndex(&font, static_cast<int>(TakeCharacter(text).value_or(U'\uFFFD')));
    glyph.end = bytes - text.size();
    int advance = 0, bearing = 0;
    stbtt_GetGlyphHMetrics(&font, glyph.index, &advance, &bearing);
    const int kerning = i > 0 ? stbtt_GetGlyphKernAdvance(&font, before, glyph.index) : 0;
    glyph.left = glyph.right + scale * static_cast<float>(kerning);
    glyph.right = glyph.left + scale * static_cast<float>(advance);
    if (!use(glyph)) return;
  }
}

// Mixes a pixel with the colour; `coverage` is 0 to 255.
void Blend(uint8_t* pixel, const Colour& colour, int coverage) {
  for (const int target : colour) {
    *pixel = static_cast<uint8_t>((*pixel * (255 - coverage) + target * coverage + 127) / 255);
    ++pixel;
  }
}

// Returns the first line of a paragraph. It ends before a space if possible, and has at least one character.
std::string_view FirstLine(std::string_view paragraph, int height, int width) {
  const std::string_view fits = FrontWithin(paragraph, height, width);
  if (fits.size() == paragraph.size()) return paragraph;
  const size_t space = paragraph.substr(0, fits.size() + 1).rfind(' ');
  if (space != std::string_view::npos && space > 0) return paragraph.substr(0, space);
  if (!fits.empty()) return fits;
  std::string_view after = paragraph;
  TakeCharacter(after);
  return paragraph.substr(0, paragraph.size() - after.size());
}

}  // namespace

int TextWidth(std::string_view text, int height) {
  float width = 0;
  ForEachGlyph(text, height, [&](const Glyph& glyph) {
    width = glyph.right;
    return true;
  });
  return static_cast<int>(std::ceil(width));
}

std::string_view FrontWithin(std::string_view text, int height, int width) {
  size_t fits = 0;
  ForEachGlyph(text, height, [&](const Glyph& glyph) {
    if (std::ceil(glyph.right) > static_cast<float>(width)) return false;
    fits = glyph.end;
    return true;
  });
  return text.substr(0, fits);
}

std::vector<std::string> WrapText(const std::string& text, int height, int width) {
  std::vector<std::string> lines;
  if (text.empty()) return lines;
  for (const absl::string_view paragraph : absl::StrSplit(text, '\n')) {
    std::string_view rest(paragraph.data(), paragraph.size());
    for (bool more = true; more && lines.size() < kMostLines;) {
      const std::string_view line = FirstLine(rest, height, width);
      lines.emplace_back(line);
      more = line.size() < rest.size();
      rest.remove_prefix(line.size());
      if (rest.starts_with(' ')) rest.remove_prefix(1);
    }
  }
  return lines;
}

void Write(const Canvas& canvas, std::string_view text, Point at, const Lettering& lettering) {
  const float scale = ScaleOf(lettering.height);
  int start = 0;
  if (lettering.anchor == Lettering::Anchor::kCentre) start = -TextWidth(text, lettering.height) / 2;
  if (lettering.anchor == Lettering::Anchor::kRight) start = -TextWidth(text, lettering.height);
  const int baseline = (lettering.height + 1) / 2;
  std::vector<uint8_t> ink;
  ForEachGlyph(text, lettering.height, [&](const Glyph& glyph) {
    const float whole = std::floor(glyph.left), part = glyph.left - whole;
    int left, top, right, bottom;
    stbtt_GetGlyphBitmapBoxSubpixel(&Font(), glyph.index, scale, scale, part, 0, &left, &top, &right, &bottom);
    // Position of the glyph in the text, before the text is turned upwards: `along` to the right, `across` downwards.
    const int along = start + static_cast<int>(whole) + left, across = baseline + top;
    const int width = right - left, height = bottom - top;
    const Rect place = lettering.upwards ? Rect{at.x + across, at.y - along - width, height, width}
                                         : Rect{at.x + along, at.y + across, width, height};
    const Rect inside = Intersection(place, canvas.area());
    if (inside.empty()) return true;
    ink.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
    stbtt_MakeGlyphBitmapSubpixel(&Font(), ink.data(), width, height, width, scale, scale, part, 0, glyph.index);
    for (int y = inside.y; y < inside.bottom(); ++y) {
      for (int x = inside.x; x < inside.right(); ++x) {
        const int from_x = lettering.upwards ? place.bottom() - 1 - y : x - place.x;
        const int from_y = lettering.upwards ? x - place.x : y - place.y;
        const size_t from = static_cast<size_t>(from_y) * static_cast<size_t>(width) + static_cast<size_t>(from_x);
        Blend(canvas.Row(y) + 3 * x, lettering.colour, ink[from]);
      }
    }
    return true;
  });
}

std::string ShortNumber(double value) {
  return absl::StrFormat("%.3g", value == 0 ? 0.0 : value);  // converts -0 to 0
}

}  // namespace vitrine
