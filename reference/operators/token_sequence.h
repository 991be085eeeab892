// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_TOKEN_SEQUENCE_H_
#define VITRINE_REFERENCE_OPERATORS_TOKEN_SEQUENCE_H_

#include <memory>
#include <vector>

#include "reference/packed_tokens.h"

namespace vitrine {

// Rows that a batch's tokens take on their way through a model. On a CPU without gradients they are rounded up, so that
// rows of zeros follow the last token and the number of rows is one of few: oneDNN compiles and keeps kernels for every
// number that it meets, which costs a tenth of the time and hundreds of megabytes.
int64_t RowsFor(const TokenLayout& layout, const at::Tensor& data);

// Class tokens [images, width] before the patches [T, width] of their images. `layout` is that of `patches`, with a
// prefix of one token.
PackedTokens JoinClassTokens(const at::Tensor& class_tokens, const PackedTokens& patches,
                             const std::shared_ptr<const TokenLayout>& layout);

// The mean over the tokens of each image, which have no class token: [images, width] fp32.
at::Tensor MeanOfImages(const PackedTokens& cells);

// The outputs of a layer's runs one after the other, followed by zeros up to `rows`, those of its input.
at::Tensor JoinRuns(std::vector<at::Tensor> runs, int64_t rows);

// The class tokens of a batch: [images, width].
at::Tensor ClassTokens(const PackedTokens& x);

// Where the tokens of the grids are: [cells of all images].
at::Tensor CellRows(const TokenLayout& layout);
// The tokens of the grids alone: [cells of all images, width].
at::Tensor CellTokens(const PackedTokens& x);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_TOKEN_SEQUENCE_H_
