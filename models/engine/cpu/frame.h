// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CPU_FRAME_H_
#define VITRINE_MODELS_ENGINE_CPU_FRAME_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "common/simd/view.h"
#include "models/attention_tap.h"
#include "models/engine/cpu/kernels/kernels.h"
#include "models/engine/image_planes.h"
#include "models/engine/plan/operand.h"
#include "models/token_layout.h"

namespace vitrine::engine {

using cpu::View;

// A range of rows or items.
struct Segment {
  int64_t first = 0;
  int64_t count = 0;
};

// A group of images that pass through the steps together, and its buffers. Used by one thread, or by one member of a
// thread team (team.h). The frames of a team have the same images and buffers, but each frame has its own scratch.
class Frame {
 public:
  // Sets the images of the group: at least one image, and at least one whole cell in each image. `first_image` is the
  // batch index of images[0].
  void Take(std::span<const ImagePlanes> images, int cell, int prefix, int first_image);

  const Kernels& kernels() const { return *kernels_; }
  std::span<const ImagePlanes> inputs() const { return images_; }
  int images() const { return static_cast<int>(images_.size()); }
  int first_image() const { return first_image_; }
  Grid grid(int image) const { return grids_[static_cast<size_t>(image)]; }
  int64_t rows(RowsOf rows) const;
  // Returns the range of rows that belong to `image` in a buffer with rows of kind `rows`.
  Segment SegmentOf(RowsOf rows, int image) const;
  int64_t most_tokens() const { return most_tokens_; }  // tokens of the largest image, including prefix tokens

  View<float> At(Operand operand) const;
  RowsOf RowsOfBuffer(Operand operand) const { return buffers_[static_cast<size_t>(operand.buffer)].rows; }
  View<float> Of(Operand operand, int image) const;
  // Returns the rows of `image` without its prefix tokens.
  View<float> CellsOf(Operand operand, int image) const;
  // Returns only the prefix tokens of `image`; no rows if the buffer has no tokens.
  View<float> PrefixOf(Operand operand, int image) const;

  // Returns the sum of channels * height * width over the images.
  int64_t pixels() const;

  // Returns the scratch memory of a step: at least as many floats as Step::Scratch returns. Each step may overwrite it.
  float* scratch() const { return scratch_; }

  // Returns the range of `items` independent items that this thread computes: all items if it is the only thread, no
  // items if ShareWithin has excluded this thread.
  Segment Share(int64_t items) const {
    if (member_ >= members_) return {items, 0};
    const int64_t first = items * member_ / members_;
    return {first, items * (member_ + 1) / members_ - first};
  }
  // Returns the rows that this thread computes.
  template <typename T>
  View<T> ShareOf(View<T> rows) const {
    const Segment share = Share(rows.rows);
    return {rows.Row(share.first), share.count, rows.columns, rows.stride};
  }
  int members() const { return members_; }
  // Limits the work to the first `members` threads.
  void ShareWithin(int members) { members_ = std::min(members_, members); }
  // Returns true on the leading thread, which does the work that cannot be shared.
  bool Leads() const { return member_ == 0; }

  // Returns true if the attention of this source and layer was requested for this image.
  bool Watched(int image, AttentionSource source, int layer) const {
    return attention != nullptr && attention->Wants(first_image_ + image, source, layer);
  }

  AttentionTap* attention = nullptr;  // null if no attention is requested
  // Tokens of a stage, concatenated over the groups of images of a batch. `has_prefix` is true if the rows include the
  // plan's prefix tokens.
  struct HandedOut {
    FloatArray rows;
    bool has_prefix = false;
  };
  std::map<int, HandedOut>* tokens = nullptr;  // by stage; null if no tokens are requested

 private:
  friend class FrameMemory;

  struct Place {
    RowsOf rows = RowsOf::kTokens;
    int64_t width = 0;
    float* data = nullptr;
  };

  const Kernels* kernels_ = nullptr;
  std::span<const ImagePlanes> images_;
  int first_image_ = 0;
  std::vector<Grid> grids_;
  std::vector<int64_t> cells_;  // cells before each image; the last entry is the total
  int prefix_ = 1;              // prefix tokens of each image
  int64_t most_tokens_ = 0;
  std::vector<Place> buffers_;
  float* scratch_ = nullptr;
  int member_ = 0;
  int members_ = 1;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_CPU_FRAME_H_
