// SPDX-License-Identifier: Apache-2.0
// Plain kernels that compute each row separately, copy rows, or sum the rows of an image.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_ROWS_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_ROWS_CUH_

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

// The reference of vitrine_fast_layer_norm in tests, together with vitrine_affine. No model launches this kernel.
VITRINE_KERNEL(vitrine_row_statistics, StatisticsArguments) {
  const Images images(arguments.batch);
  const Global<RowStatistics> to(arguments.statistics);
  ForOutputs(images.Rows(arguments.x.rows), [&](int64_t row) {
    const Global<const float> x = RowOf(arguments.x, row);
    const int columns = arguments.x.columns;
    const float center =
        SumOfRow(columns, [&](int j) { return static_cast<float>(x[j]); }) / static_cast<float>(columns);
    const float squares = SumOfRow(columns, [&](int j) {
      const float distance = x[j] - center;
      return distance * distance;
    });
    to[row] = {center, 1 / Root(squares / static_cast<float>(columns) + arguments.epsilon)};
  });
}

VITRINE_KERNEL(vitrine_affine, AffineArguments) {
  const Global<const float> scale(arguments.scale), shift(arguments.shift);
  const Global<const RowStatistics> statistics(arguments.statistics);
  ForElements(Images(arguments.batch).Rows(arguments.x.rows), arguments.x.columns, [&](int row, int column) {
    float x = RowOf(arguments.x, row)[column];
    if (arguments.statistics != nullptr) {
      const RowStatistics of = statistics[row];
      x = (x - of.center) * of.scale;
    }
    RowOf(arguments.y, row)[column] = Activated(Fma(x, scale[column], shift[column]), arguments.activation, false);
  });
}

VITRINE_KERNEL(vitrine_activate, ActivateArguments) {
  ForElements(Images(arguments.batch).Rows(arguments.x.rows), arguments.x.columns, [&](int row, int column) {
    RowOf(arguments.y, row)[column] = Activated(RowOf(arguments.x, row)[column], arguments.activation, false);
  });
}

VITRINE_KERNEL(vitrine_add, AddArguments) {
  ForElements(Images(arguments.batch).Rows(arguments.x.rows), arguments.x.columns, [&](int row, int column) {
    RowOf(arguments.y, row)[column] = RowOf(arguments.x, row)[column] + RowOf(arguments.z, row)[column];
  });
}

VITRINE_KERNEL(vitrine_fill, FillArguments) {
  const Global<const float> from(arguments.row);
  ForElements(Images(arguments.batch).Rows(arguments.y.rows), arguments.y.columns,
              [&](int row, int column) { RowOf(arguments.y, row)[column] = from[column]; });
}

VITRINE_DEVICE int CountOfCopied(const CopyArguments& arguments, const Images& images) {
  return images.Rows(arguments.rows == CopiedRows::kAll     ? arguments.x.rows
                     : arguments.rows == CopiedRows::kClass ? RowsOf::kImages
                                                            : RowsOf::kCells);
}
struct CopiedRow {
  int source, target;
};
// Returns the rows of x and y that belong to the i-th copied row.
VITRINE_DEVICE CopiedRow CopiedRowOf(const CopyArguments& arguments, const Images& images, int i) {
  const RowsOf from = arguments.x.rows, to = arguments.y.rows;
  if (arguments.rows == CopiedRows::kAll) return {i, i};
  if (arguments.rows == CopiedRows::kClass) {
    return {images.RowOfToken(from, i, arguments.token), images.RowOfToken(to, i, arguments.token)};
  }
  const int image = images.ImageOf(RowsOf::kCells, i), cell = i - images.FirstCell(image);
  return {images.RowOfCell(from, image, cell), images.RowOfCell(to, image, cell)};
}

VITRINE_KERNEL(vitrine_copy_rows, CopyArguments) {
  const Images images(arguments.batch);
  ForElements(CountOfCopied(arguments, images), arguments.x.columns, [&](int row, int column) {
    const CopiedRow copied = CopiedRowOf(arguments, images, row);
    RowOf(arguments.y, copied.target)[column] = RowOf(arguments.x, copied.source)[column];
  });
}

VITRINE_KERNEL(vitrine_unit_length, UnitLengthArguments) {
  ForOutputs(Images(arguments.batch).Rows(arguments.x.rows), [&](int64_t row) {
    const Global<const float> x = RowOf(arguments.x, row);
    const Global<float> y = RowOf(arguments.y, row);
    const int columns = arguments.x.columns;
    const float squares = SumOfRow(columns, [&](int j) {
      const float value = x[j];
      return value * value;
    });
    const float factor = 1 / (Root(squares) + arguments.epsilon);
    for (int j = 0; j < columns; ++j) y[j] = x[j] * factor;
  });
}

VITRINE_KERNEL(vitrine_mean_of_cells, MeanArguments) {
  const Images images(arguments.batch);
  ForElements(images.count(), arguments.x.columns, [&](int image, int column) {
    const int cells = images.RowsIn(RowsOf::kCells, image), first = images.RowOfCell(arguments.x.rows, image, 0);
    float sum = 0;
    for (int cell = 0; cell < cells; ++cell) sum += RowOf(arguments.x, first + cell)[column];
    RowOf(arguments.y, image)[column] = sum / static_cast<float>(cells);
  });
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_ROWS_CUH_
