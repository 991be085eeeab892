// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_FRAME_H_
#define VITRINE_ENGINE_CPU_FRAME_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/simd/view.h"
#include "engine/cpu/kernels/kernels.h"
#include "engine/picture.h"
#include "models/attention_tap.h"
#include "models/token_layout.h"

namespace vitrine::engine {

using cpu::View;

// What the rows of a buffer are.
enum class RowsOf {
  kTokens,  // of each image its class token, then its cells row by row
  kCells,
  kImages,
};

// Columns of a buffer of the arena.
struct Operand {
  int buffer = -1;
  int64_t first = 0;
  int64_t columns = 0;
};

// Where the rows of one image are.
struct Segment {
  int64_t first = 0;
  int64_t count = 0;
};

// Images that pass through the steps together, and the memory in which they do. One thread's, or one member's of a team
// (team.h), whose frames share all but their scratch.
class Frame {
 public:
  // Takes the next images: `pictures` of whole cells, at least one. `first_image` is the place of the first in its
  // batch.
  void Take(std::span<const Picture> pictures, int cell, int first_image);

  const Kernels& kernels() const { return *kernels_; }
  std::span<const Picture> pictures() const { return pictures_; }
  int images() const { return static_cast<int>(pictures_.size()); }
  int first_image() const { return first_image_; }
  Grid grid(int image) const { return grids_[static_cast<size_t>(image)]; }
  int64_t rows(RowsOf rows) const;
  // Rows of `image`, which are one where there is one an image.
  Segment SegmentOf(RowsOf rows, int image) const;
  int64_t most_tokens() const { return most_tokens_; }  // of one image, its class token included

  View<float> At(Operand operand) const;
  RowsOf RowsOfBuffer(Operand operand) const { return buffers_[static_cast<size_t>(operand.buffer)].rows; }
  View<float> Of(Operand operand, int image) const;
  // The same without a class token.
  View<float> CellsOf(Operand operand, int image) const;

  // Pixels of all pictures, every channel counted.
  int64_t pixels() const;

  // Floats for whatever a step computes on the way; each step's own, and as many as it said.
  float* scratch() const { return scratch_; }

  // Of so many items that can be worked at side by side, those of this frame's thread: all of them where it is alone.
  // None where there are more threads than share the work.
  Segment Share(int64_t items) const {
    if (member_ >= members_) return {items, 0};
    const int64_t first = items * member_ / members_;
    return {first, items * (member_ + 1) / members_ - first};
  }
  // The same of rows.
  template <typename T>
  View<T> ShareOf(View<T> rows) const {
    const Segment share = Share(rows.rows);
    return {rows.Row(share.first), share.count, rows.columns, rows.stride};
  }
  int members() const { return members_; }
  // No more than so many share the work from now on.
  void ShareWithin(int members) { members_ = std::min(members_, members); }
  // Whether this thread does what one alone does.
  bool Leads() const { return member_ == 0; }

  // Whether somebody asks for attention of one of this frame's images.
  bool Watched(int image, AttentionSource source, int layer) const {
    return attention != nullptr && attention->Wants(first_image_ + image, source, layer);
  }

  AttentionTap* attention = nullptr;  // null: nobody asked
  // Tokens by stage, of all frames of a batch end to end; null: nobody asked. Rows with a class token are marked.
  struct HandedOut {
    FloatArray rows;
    bool class_token = false;
  };
  std::map<int, HandedOut>* tokens = nullptr;

 private:
  friend class FrameMemory;

  struct Place {
    RowsOf rows = RowsOf::kTokens;
    int64_t width = 0;
    float* data = nullptr;
  };

  const Kernels* kernels_ = nullptr;
  std::span<const Picture> pictures_;
  int first_image_ = 0;
  std::vector<Grid> grids_;
  std::vector<int64_t> cells_;  // before each image, and all of them
  int64_t most_tokens_ = 0;
  std::vector<Place> buffers_;
  float* scratch_ = nullptr;
  int member_ = 0;
  int members_ = 1;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_FRAME_H_
