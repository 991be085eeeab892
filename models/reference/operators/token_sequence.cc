// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/token_sequence.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <numeric>

namespace vitrine {
namespace {

// Rounds `tokens` up by at most a sixteenth. So there are 16 possible results between a power of two and the next power
// of two.
int64_t RoundedRows(int64_t tokens) {
  int64_t step = 1;
  while (step * 32 <= tokens) step *= 2;
  return (tokens + step - 1) / step * step;
}

}  // namespace

int64_t RowsFor(const TokenLayout& layout, const at::Tensor& data) {
  const bool round = data.is_cpu() && !at::GradMode::is_enabled();
  return round ? RoundedRows(layout.total_tokens()) : layout.total_tokens();
}

PackedTokens JoinPrefixTokens(const std::vector<at::Tensor>& rows, const PackedTokens& patches,
                              const std::shared_ptr<const TokenLayout>& layout) {
  const int64_t width = rows[0].size(1);
  std::vector<at::Tensor> runs;
  for (const TokenLayout::Run& run : patches.layout->runs()) {
    const at::Tensor cells = patches.data.narrow(0, run.first_token, run.images * run.tokens_per_image)
                                 .view({run.images, run.tokens_per_image, width});
    std::vector<at::Tensor> parts;
    for (const at::Tensor& row : rows) parts.push_back(row.narrow(0, run.first_image, run.images).unsqueeze(1));
    parts.push_back(cells);
    runs.push_back(at::cat(parts, 1).view({-1, width}));
  }
  return {JoinRuns(std::move(runs), RowsFor(*layout, rows[0])), layout};
}

at::Tensor MeanOfImages(const PackedTokens& cells) {
  std::vector<at::Tensor> means;
  for (const TokenLayout::Run& run : cells.layout->runs()) {
    const at::Tensor tokens = cells.data.narrow(0, run.first_token, run.images * run.tokens_per_image);
    means.push_back(tokens.view({run.images, run.tokens_per_image, tokens.size(1)}).to(at::kFloat).mean(1));
  }
  return at::cat(means);
}

at::Tensor JoinRuns(std::vector<at::Tensor> runs, int64_t rows) {
  for (const at::Tensor& run : runs) rows -= run.size(0);
  if (rows > 0) runs.push_back(at::zeros({rows, runs[0].size(1)}, runs[0].options()));
  return runs.size() == 1 ? runs[0] : at::cat(runs);
}

at::Tensor CellRows(const TokenLayout& layout) {
  int64_t cells = 0;
  for (int image = 0; image < layout.images(); ++image) cells += layout.grid(image).cells();
  at::Tensor rows = at::empty({cells}, at::kLong);
  int64_t* next = rows.data_ptr<int64_t>();
  for (int image = 0; image < layout.images(); ++image) {
    const int64_t count = layout.grid(image).cells();
    std::iota(next, next + count, layout.offset(image) + layout.prefix_tokens());
    next += count;
  }
  return rows;
}

at::Tensor CellTokens(const PackedTokens& x) {
  return x.data.index_select(0, CellRows(*x.layout).to(x.data.device()));
}

at::Tensor PrefixTokens(const PackedTokens& x, int token) {
  at::Tensor rows = at::empty({x.layout->images()}, at::kLong);
  for (int image = 0; image < x.layout->images(); ++image) {
    rows.data_ptr<int64_t>()[image] = x.layout->offset(image) + token;
  }
  return x.data.index_select(0, rows.to(x.data.device()));
}

}  // namespace vitrine
