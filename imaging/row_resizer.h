// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_ROW_RESIZER_H_
#define VITRINE_IMAGING_ROW_RESIZER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imaging/geometry.h"
#include "imaging/image.h"
#include "imaging/resize.h"

namespace vitrine {

// The inputs of each output along one axis, and their weights: output i is the sum over t of
// weights[i * taps + t] * input[first[i] + t]. What a row of weights has to spare is 0.
struct ResizeFilter {
  int begin = 0;  // the inputs that any output reads: [begin, end)
  int end = 0;
  int taps = 0;       // a multiple of the lanes that FilterRow sums in
  int most_taps = 0;  // of any output, without what is spare
  std::vector<int> first;
  std::vector<int> count;  // inputs with a weight
  std::vector<float> weights;
};

// The resize of imaging/resize.h, one row of the output at a time, so that pixels may be resized while they are
// decoded. Not thread-safe: the sums of a row are kept from row to row.
class RowResizer {
 public:
  static constexpr int kMostChannels = 3;

  // The part `region` of a picture of size `from` that is resized to `to`.
  RowResizer(Size from, Size to, const Region& region, v1::Interpolation interpolation);

  // The pixels of the picture that any row depends on.
  PicturePart part() const { return {down_.begin, down_.end, along_.begin, along_.end}; }
  // Row y depends on the picture's rows [first_of(y), end_of(y)); neither decreases with y.
  int first_of(int y) const { return down_.first[y]; }
  int end_of(int y) const { return down_.first[y] + down_.count[y]; }
  int most_rows() const { return down_.most_taps; }
  int height() const { return static_cast<int>(down_.first.size()); }
  int width() const { return static_cast<int>(along_.first.size()); }

  // Row y of every channel: channel c to `out` + c * `plane`. `rows` are the picture's rows from first_of(y) on, 1 or 3
  // interleaved channels, each from column part().left on.
  void Resize(int y, const uint8_t* const* rows, int channels, float* out, ptrdiff_t plane);
  // The same from a whole picture of the size `from`.
  void Resize(int y, const Image& picture, float* out, ptrdiff_t plane);
  void Resize(int y, const FloatImage& picture, float* out, ptrdiff_t plane);

 private:
  template <typename T>
  void ResizeRows(int y, const T* const* rows, int channels, float* out, ptrdiff_t plane);
  template <typename T>
  const T* const* RowsOf(int y, const T* picture, ptrdiff_t stride, int channels, std::vector<const T*>& rows) const;

  ResizeFilter down_;
  ResizeFilter along_;
  std::vector<float> sums_;
  std::vector<const uint8_t*> bytes_;  // a whole picture's rows
  std::vector<const float*> floats_;
};

}  // namespace vitrine

#endif  // VITRINE_IMAGING_ROW_RESIZER_H_
