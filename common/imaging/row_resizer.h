// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_ROW_RESIZER_H_
#define VITRINE_COMMON_IMAGING_ROW_RESIZER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "common/imaging/resize.h"

namespace vitrine {

// Inputs and weights of each output along one axis: output i is the sum over t of weights[i * taps + t] *
// input[first[i] + t]. Unused weights of an output are 0. A resize from bytes to bytes (common/imaging/byte_passes.h)
// uses the weights in `fixed`; every other resize uses the weights in `weights`.
struct ResizeFilter {
  int begin = 0;  // [begin, end): inputs that any output reads
  int end = 0;
  int taps = 0;       // weights per output, a multiple of the number of lanes in FilterRow
  int most_taps = 0;  // maximum number of used weights of an output
  std::vector<int> first;
  std::vector<int> count;  // number of inputs with a weight, per output
  std::vector<float> weights;
  std::vector<int32_t> fixed;
};

// The resize of common/imaging/resize.h, one output row at a time, so that an image can be resized while it is decoded.
// Each image needs its own object. Not thread-safe, because it keeps rows for the next call.
class RowResizer {
 public:
  static constexpr int kMostChannels = 3;

  // Prepares to resize an image of size `from` to size `to`; only the part `region` of the result is computed.
  RowResizer(Size from, Size to, const Region& region, v1::Interpolation interpolation,
             Rounding rounding = v1::Preprocessing::NONE);

  // Returns the part of the image that is needed to compute the output.
  ImagePart part() const { return {down_.begin, down_.end, along_.begin, along_.end}; }
  // Output row y depends on the image's rows [first_of(y), end_of(y)). If y grows, neither bound becomes smaller.
  int first_of(int y) const { return down_.first[y]; }
  int end_of(int y) const { return down_.first[y] + down_.count[y]; }
  int most_rows() const { return down_.most_taps; }
  int height() const { return static_cast<int>(down_.first.size()); }
  int width() const { return static_cast<int>(along_.first.size()); }

  // Computes row y of every channel; channel c is written to `out` + c * `plane`. `rows`: the image's rows, beginning
  // with row first_of(y). Each row has 1 or 3 interleaved channels and begins at column part().left.
  void Resize(int y, const uint8_t* const* rows, int channels, float* out, ptrdiff_t plane);
  // Like the function above, but reads the rows from the whole image, whose size is the constructor's `from`. A float
  // image is never rounded (see RoundedToBytes in common/imaging/resize.h).
  void Resize(int y, const Image& image, float* out, ptrdiff_t plane);
  void Resize(int y, const FloatImage& image, float* out, ptrdiff_t plane);

 private:
  template <typename T>
  void ResizeRows(int y, const T* const* rows, int channels, float* out, ptrdiff_t plane);
  void ResizeBytes(int y, const uint8_t* const* rows, int channels, float* out, ptrdiff_t plane);
  // Computes row y into `byte_row_`.
  void AlongThenDown(int y, const uint8_t* const* rows, int channels);
  void DownThenAlong(int y, const uint8_t* const* rows, int channels);
  template <typename T>
  const T* const* RowsOf(int y, const T* image, ptrdiff_t stride, int channels, std::vector<const T*>& rows) const;

  ResizeFilter down_;
  ResizeFilter along_;
  const bool rounds_;
  const bool down_first_;              // true: the vertical pass of the rounding resize comes first
  std::vector<float> sums_;            // vertical sums of one row; not used in a resize from bytes to bytes
  std::vector<const uint8_t*> bytes_;  // row pointers of a whole image
  std::vector<const float*> floats_;

  // Used only for a resize from bytes to bytes, otherwise empty.
  std::vector<int32_t> line_;    // used part of a row, as int32_t
  std::vector<uint8_t> passed_;  // results of the first pass: a ring of image rows, or one output row
  std::vector<int> held_;        // image row in each entry of the ring, or -1
  std::vector<const uint8_t*> passed_rows_;
  std::vector<int32_t> byte_sums_;
  std::vector<uint8_t> byte_row_;  // one output row
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_ROW_RESIZER_H_
