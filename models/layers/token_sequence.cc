#include "models/layers/token_sequence.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

namespace vitrine {

PackedTokens WithClassToken(const at::Tensor& patches, std::vector<Grid> grids, const at::Tensor& class_token,
                            const PositionTable& positions) {
  const auto layout = TokenLayout::Make(std::move(grids), /*prefix_tokens=*/1);
  const int64_t width = patches.size(1);
  std::vector<at::Tensor> runs;
  int64_t first_cell = 0;
  for (const TokenLayout::Run& run : layout->runs()) {
    const at::Tensor cells =
        patches.narrow(0, first_cell, run.images * run.grid.cells()).view({run.images, run.grid.cells(), width});
    const at::Tensor tokens = at::cat({class_token.expand({run.images, 1, width}), cells}, 1);  // [B, n, width]
    runs.push_back((tokens + positions.For(run.grid)).view({-1, width}));
    first_cell += run.images * run.grid.cells();
  }
  return {runs.size() == 1 ? runs[0] : at::cat(runs), layout};
}

at::Tensor ClassTokens(const PackedTokens& x) {
  at::Tensor rows = at::empty({x.layout->images()}, at::kLong);
  for (int image = 0; image < x.layout->images(); ++image) rows.data_ptr<int64_t>()[image] = x.layout->offset(image);
  return x.data.index_select(0, rows.to(x.data.device()));
}

}  // namespace vitrine
