// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_TOKEN_SEQUENCE_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_TOKEN_SEQUENCE_H_

#include <memory>
#include <vector>

#include "models/reference/packed_tokens.h"

namespace vitrine {

// Returns the number of rows for a batch's tokens. On a CPU without gradients, the number is rounded up, and zero rows
// follow the last token. Without rounding, oneDNN would compile and cache a kernel for every number of tokens. This
// would take a tenth of the run time, and hundreds of megabytes of memory.
int64_t RowsFor(const TokenLayout& layout, const at::Tensor& data);

// Puts prefix tokens before each image's rows of `patches` [T, width]. Each element of `rows` has one prefix token of
// every image, [images, width]. `layout` is the layout of the result: the images' grids with rows.size() prefix tokens.
PackedTokens JoinPrefixTokens(const std::vector<at::Tensor>& rows, const PackedTokens& patches,
                              const std::shared_ptr<const TokenLayout>& layout);

// Returns the mean over the tokens of each image, without class tokens: [images, width] fp32.
at::Tensor MeanOfImages(const PackedTokens& cells);

// Joins outputs, one per TokenLayout::Run, and pads them with zero rows to `rows` rows.
at::Tensor JoinRuns(std::vector<at::Tensor> runs, int64_t rows);

// Returns prefix token `token` of each image of a batch: [images, width].
at::Tensor PrefixTokens(const PackedTokens& x, int token);

// Returns the row indices of grid tokens: [cells of all images].
at::Tensor CellRows(const TokenLayout& layout);
// Returns the tokens of the grids: [cells of all images, width].
at::Tensor CellTokens(const PackedTokens& x);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_TOKEN_SEQUENCE_H_
