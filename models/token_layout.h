// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOKEN_LAYOUT_H_
#define VITRINE_MODELS_TOKEN_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace vitrine {

// Rows and columns of patch tokens.
struct Grid {
  int rows = 0;
  int columns = 0;
  int64_t cells() const { return int64_t{rows} * columns; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

// Positions of each image's tokens in a packed batch. Offsets are in tokens. Image i has prefix_tokens() +
// grid(i).cells() tokens: the prefix tokens, then the grid row by row. Immutable; thread-safe.
class TokenLayout {
 public:
  // Consecutive images with equal grids; one batched call can process them.
  struct Run {
    int first_image = 0;
    int images = 0;
    Grid grid;
    int64_t first_token = 0;
    int64_t tokens_per_image = 0;  // includes the prefix
  };

  // Makes a layout. Requires at least one image and grids of at least one cell.
  static std::shared_ptr<const TokenLayout> Make(std::vector<Grid> grids, int prefix_tokens);

  int images() const { return static_cast<int>(grids_.size()); }
  int prefix_tokens() const { return prefix_tokens_; }
  int64_t total_tokens() const { return offsets_.back(); }
  Grid grid(int image) const { return grids_[image]; }
  int64_t offset(int image) const { return offsets_[image]; }
  int64_t tokens(int image) const { return offsets_[image + 1] - offsets_[image]; }
  // Returns the runs of images with equal grids. Sorting the batch by grid is optional, but gives the longest runs.
  std::span<const Run> runs() const { return runs_; }

 private:
  TokenLayout(std::vector<Grid> grids, int prefix_tokens);

  const std::vector<Grid> grids_;
  const int prefix_tokens_;
  std::vector<int64_t> offsets_;  // images() + 1 elements; the last is the number of tokens
  std::vector<Run> runs_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOKEN_LAYOUT_H_
