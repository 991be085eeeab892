// SPDX-License-Identifier: Apache-2.0
// Plain kernels of attention among channels (XCiT), and of X-ViT's attention without a softmax. Both kinds of attention
// multiply q or v of a head by a small matrix, which is a sum over the image's tokens.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_CHANNEL_ATTENTION_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_CHANNEL_ATTENTION_CUH_

#include "models/engine/cuda/kernels/batch.cuh"
#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

// XCiT divides a channel by its length, or by kLeastLength if the length is smaller. X-ViT divides by length +
// kLengthEpsilon.
inline constexpr float kLeastLength = 1e-12F, kLengthEpsilon = 1e-6F;

VITRINE_DEVICE int HeadWidth(const ChannelArguments& arguments) {
  return arguments.q.columns / arguments.heads;
}

// Computes 1 / length of each column of q, then of each column of k. A column is a vector over the tokens of one image.
VITRINE_KERNEL(vitrine_inverse_lengths, ChannelArguments) {
  const Images images(arguments.batch);
  const int columns = arguments.q.columns;
  const Global<float> inverse_q(arguments.inverse_q), inverse_k(arguments.inverse_k);
  ForElements(images.count(), 2 * columns, [&](int image, int of) {
    const bool is_q = of < columns;
    const Matrix& x = is_q ? arguments.q : arguments.k;
    const int column = of % columns, first = images.FirstRow(x.rows, image), rows = images.RowsIn(x.rows, image);
    float squares = 0;
    for (int row = 0; row < rows; ++row) {
      const float value = RowOf(x, first + row)[column];
      squares = Fma(value, value, squares);
    }
    (is_q ? inverse_q : inverse_k)[image * columns + column] = 1 / Most(kLeastLength, Root(squares));
  });
}

// Computes each head's matrix: element (i, j) is the sum over tokens of column i of `a` times column j of `b`.
VITRINE_DEVICE void SumOverTokens(const ChannelArguments& arguments, const Matrix& a, const Matrix& b) {
  const Images images(arguments.batch);
  const int width = HeadWidth(arguments), each = width * width;
  const Global<float> matrices(arguments.matrices);
  ForElements(images.count(), arguments.heads * each, [&](int image, int of) {
    const int head = of / each, i = of % each / width, j = of % width;
    const int first = images.FirstRow(a.rows, image), rows = images.RowsIn(a.rows, image);
    float sum = 0;
    for (int row = 0; row < rows; ++row) {
      const float left = RowOf(a, first + row)[head * width + i], right = RowOf(b, first + row)[head * width + j];
      sum = arguments.narrow ? Fma(RoundToBf16(left), RoundToBf16(right), sum) : Fma(left, right, sum);
    }
    matrices[int64_t{image} * arguments.heads * each + of] = sum;
  });
}

// Computes k^T q, [channel of k, channel of q]. vitrine_channel_scale multiplies the result by factors, which gives
// XCiT's scores.
VITRINE_KERNEL(vitrine_channel_products, ChannelArguments) {
  SumOverTokens(arguments, arguments.k, arguments.q);
}
VITRINE_KERNEL(vitrine_channel_scale, ChannelArguments) {
  const Images images(arguments.batch);
  const int width = HeadWidth(arguments), each = width * width, columns = arguments.q.columns;
  const Global<float> matrices(arguments.matrices);
  const Global<const float> temperature(arguments.temperature), inverse_q(arguments.inverse_q),
      inverse_k(arguments.inverse_k);
  ForElements(images.count(), arguments.heads * each, [&](int image, int of) {
    const int head = of / each, first = image * columns + head * width;
    const float factor = temperature[head] * inverse_k[first + of % each / width];
    const int64_t at = int64_t{image} * arguments.heads * each + of;
    matrices[at] = matrices[at] * (factor * inverse_q[first + of % width]);
  });
}
// Computes the softmax of each column of a head's matrix, with one thread per column.
VITRINE_KERNEL(vitrine_channel_softmax, ChannelArguments) {
  const Images images(arguments.batch);
  const int width = HeadWidth(arguments), each = width * width;
  const Global<float> matrices(arguments.matrices);
  ForElements(images.count(), arguments.heads * width, [&](int image, int of) {
    const Global<float> column = matrices + ((int64_t{image} * arguments.heads + of / width) * each + of % width);
    float largest = column[0];
    for (int i = 1; i < width; ++i) largest = Most(largest, column[i * width]);
    float sum = 0;
    for (int i = 0; i < width; ++i) {
      const float power = Exp(column[i * width] - largest);
      column[i * width] = power;
      sum += power;
    }
    const float factor = 1 / sum;
    for (int i = 0; i < width; ++i) column[i * width] = factor * column[i * width];
  });
}

// Computes y(j) = sum over i of factor * x(i) * matrix(i, j), with one factor per row and head (1 if `row_factors` is
// null). Reads as many rows of x in each image as y has, starting at the image's first row.
VITRINE_DEVICE void MultiplyByMatrices(const ChannelArguments& arguments, const Matrix& x, const float* row_factors) {
  const Images images(arguments.batch);
  const int width = HeadWidth(arguments), each = width * width;
  const Global<const float> matrices(arguments.matrices), factors(row_factors);
  ForElements(images.Rows(arguments.y.rows), arguments.y.columns, [&](int row, int column) {
    const int head = column / width, image = images.ImageOf(arguments.y.rows, row);
    const int from = images.FirstRow(x.rows, image) + row - images.FirstRow(arguments.y.rows, image);
    const int64_t matrix = (int64_t{image} * arguments.heads + head) * each + column % width;
    float factor = 1;
    if (row_factors != nullptr) factor = factors[int64_t{from} * arguments.heads + head];
    float sum = 0;
    for (int i = 0; i < width; ++i) {
      const float value = RowOf(x, from)[head * width + i], weight = matrices[matrix + i * width];
      sum = arguments.narrow ? Fma(RoundToBf16(value), RoundToBf16(weight), sum)
                             : Fma(row_factors == nullptr ? value : value * factor, weight, sum);
    }
    RowOf(arguments.y, row)[column] = sum;
  });
}
VITRINE_KERNEL(vitrine_channel_mix, ChannelArguments) {
  MultiplyByMatrices(arguments, arguments.v, nullptr);
}

// --- X-ViT's attention: XN(q) XN(k^T v), where XN scales vectors to a learned length

VITRINE_KERNEL(vitrine_context, ChannelArguments) {
  SumOverTokens(arguments, arguments.k, arguments.v);
}
// Scales each row of a context k^T v (each column if `over_values` is false) to the length `temperature`. If
// `normalizes` is false, only multiplies by `temperature`.
VITRINE_KERNEL(vitrine_context_scale, ChannelArguments) {
  const Images images(arguments.batch);
  const int width = HeadWidth(arguments), each = width * width;
  const Global<float> matrices(arguments.matrices);
  const Global<const float> scales(arguments.temperature);
  ForElements(images.count(), arguments.heads * width, [&](int image, int of) {
    const int head = of / width, i = of % width;
    const int step = arguments.over_values ? 1 : width;
    const Global<float> line = matrices + ((int64_t{image} * arguments.heads + head) * each +
                                           (arguments.over_values ? int64_t{i} * width : int64_t{i}));
    float factor = scales[head];
    if (arguments.over_values && arguments.normalizes) {
      const float squares = SumOfRow(width, [&](int c) {
        const float value = line[c];
        return value * value;
      });
      factor = factor / (Root(squares) + kLengthEpsilon);
    } else if (arguments.normalizes) {
      float squares = 0;
      for (int c = 0; c < width; ++c) {
        const float value = line[c * step];
        squares = Fma(value, value, squares);
      }
      const float inverse = 1 / Most(0.0F, Root(squares));
      factor = factor / (1 / inverse + kLengthEpsilon);
    }
    for (int c = 0; c < width; ++c) line[c * step] = line[c * step] * factor;
  });
}
VITRINE_KERNEL(vitrine_query_factors, ChannelArguments) {
  const Images images(arguments.batch);
  const int width = HeadWidth(arguments);
  const Global<float> factors(arguments.factors);
  const Global<const float> scales(arguments.query_scale);
  ForElements(images.Rows(arguments.q.rows), arguments.heads, [&](int row, int head) {
    const Global<const float> q = RowOf(arguments.q, row) + head * width;
    float factor = scales[head];
    if (arguments.normalizes) {
      const float squares = SumOfRow(width, [&](int c) {
        const float value = q[c];
        return value * value;
      });
      factor = factor / (Root(squares) + kLengthEpsilon);
    }
    factors[int64_t{row} * arguments.heads + head] = factor;
  });
}
VITRINE_KERNEL(vitrine_context_mix, ChannelArguments) {
  MultiplyByMatrices(arguments, arguments.q, arguments.factors);
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_CHANNEL_ATTENTION_CUH_
