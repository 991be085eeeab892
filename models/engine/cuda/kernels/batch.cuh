// SPDX-License-Identifier: Apache-2.0
// Access to the rows of a batch in kernels, and loops over outputs.
//
// Plain kernels compute one output, or one row of a head, per thread. They work for any shape. In fp32, they add in the
// order of the CPU's AVX-512 path. Tests compare the results of fast kernels with those of plain kernels. The number of
// blocks of a launch does not depend on the batch; the threads loop over the rows of the batch.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_BATCH_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_BATCH_CUH_

#include <cstdint>

#include "models/engine/cuda/device/device.h"
#include "models/engine/cuda/kernels/arguments.h"

namespace vitrine::cuda {

// The fields of a batch, in a thread's registers.
class Images {
 public:
  VITRINE_DEVICE explicit Images(const Batch& batch)
      : images_(batch.images),
        count_(Global<const int>(batch.counts)[0]),
        cells_(Global<const int>(batch.counts)[1]),
        prefix_(batch.prefix) {}

  VITRINE_DEVICE int count() const { return count_; }
  VITRINE_DEVICE int Rows(RowsOf rows) const {
    return rows == RowsOf::kImages ? count_ : rows == RowsOf::kCells ? cells_ : cells_ + count_ * prefix_;
  }
  VITRINE_DEVICE ImageRows Of(int image) const { return images_[image]; }
  VITRINE_DEVICE int FirstCell(int image) const {
    const ImageRows rows = images_[image];
    return rows.first_cell;
  }
  // Returns the first row of an image; for `image` = count(), the end of the last image.
  VITRINE_DEVICE int FirstRow(RowsOf rows, int image) const {
    return rows == RowsOf::kImages  ? image
           : rows == RowsOf::kCells ? FirstCell(image)
                                    : FirstCell(image) + image * prefix_;
  }
  VITRINE_DEVICE int RowsIn(RowsOf rows, int image) const { return FirstRow(rows, image + 1) - FirstRow(rows, image); }
  VITRINE_DEVICE int ImageOf(RowsOf rows, int row) const {
    int first = 0, end = count_;
    while (end - first > 1) {
      const int middle = (first + end) / 2;
      if (FirstRow(rows, middle) <= row) {
        first = middle;
      } else {
        end = middle;
      }
    }
    return first;
  }
  // Returns the row of a prefix token, or the row of the image if a matrix has one row per image.
  VITRINE_DEVICE int RowOfToken(RowsOf rows, int image, int token) const {
    return FirstRow(rows, image) + (rows == RowsOf::kTokens ? token : 0);
  }
  // Returns the row of a cell. If the rows are tokens, the cells follow the prefix tokens of the image.
  VITRINE_DEVICE int RowOfCell(RowsOf rows, int image, int cell) const {
    return FirstRow(rows, image) + (rows == RowsOf::kTokens ? prefix_ : 0) + cell;
  }

 private:
  const Global<const ImageRows> images_;
  const int count_, cells_, prefix_;
};

// Calls act(i) for this thread's share of `count` outputs.
template <class Act>
VITRINE_DEVICE void ForOutputs(int64_t count, Act act) {
  const int64_t step = int64_t{Blocks()} * Threads();
  for (int64_t i = int64_t{Block()} * Threads() + Thread(); i < count; i += step) act(i);
}
// Calls act(row, column) for this thread's share of a matrix.
template <class Act>
VITRINE_DEVICE void ForElements(int64_t rows, int columns, Act act) {
  ForOutputs(rows * columns, [&](int64_t i) { act(static_cast<int>(i / columns), static_cast<int>(i % columns)); });
}

VITRINE_DEVICE Global<float> RowOf(const Matrix& matrix, int64_t row) {
  return Global<float>(matrix.data + row * matrix.stride);
}
// Returns a row of a matrix whose numbers are bf16.
VITRINE_DEVICE Global<uint16_t> NarrowRowOf(const Matrix& matrix, int64_t row) {
  return ViewAs<uint16_t>(Global<float>(matrix.data)) + row * matrix.stride;
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_BATCH_CUH_
