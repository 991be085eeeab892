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
// weights[i * taps + t] * input[first[i] + t]. What a row of weights has to spare is 0. Weights are `fixed` where bytes
// are made of bytes (imaging/byte_passes.h), else floats.
struct ResizeFilter {
  int begin = 0;  // the inputs that any output reads: [begin, end)
  int end = 0;
  int taps = 0;       // a multiple of the lanes that FilterRow sums in
  int most_taps = 0;  // of any output, without what is spare
  std::vector<int> first;
  std::vector<int> count;  // inputs with a weight
  std::vector<float> weights;
  std::vector<int32_t> fixed;
};

// The resize of imaging/resize.h, one row of the output at a time, so that pixels may be resized while they are
// decoded. One resizer for one picture. Not thread-safe: what the next row may need is kept.
class RowResizer {
 public:
  static constexpr int kMostChannels = 3;

  // The part `region` of a picture of size `from` that is resized to `to`.
  RowResizer(Size from, Size to, const Region& region, v1::Interpolation interpolation,
             Rounding rounding = v1::Preprocessing::NONE);

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
  // The same from a whole picture of the size `from`. One of floats is never rounded (imaging/resize.h,
  // RoundedToBytes).
  void Resize(int y, const Image& picture, float* out, ptrdiff_t plane);
  void Resize(int y, const FloatImage& picture, float* out, ptrdiff_t plane);

 private:
  template <typename T>
  void ResizeRows(int y, const T* const* rows, int channels, float* out, ptrdiff_t plane);
  void ResizeBytes(int y, const uint8_t* const* rows, int channels, float* out, ptrdiff_t plane);
  // Row y to `byte_row_`.
  void AlongThenDown(int y, const uint8_t* const* rows, int channels);
  void DownThenAlong(int y, const uint8_t* const* rows, int channels);
  template <typename T>
  const T* const* RowsOf(int y, const T* picture, ptrdiff_t stride, int channels, std::vector<const T*>& rows) const;

  ResizeFilter down_;
  ResizeFilter along_;
  const bool rounds_;
  const bool down_first_;              // of the passes that round
  std::vector<float> sums_;            // of one row down the columns; empty where bytes are made of bytes
  std::vector<const uint8_t*> bytes_;  // a whole picture's rows
  std::vector<const float*> floats_;

  // Empty unless bytes are made of bytes.
  std::vector<int32_t> line_;    // the part of a row that counts, widened
  std::vector<uint8_t> passed_;  // after the first pass: a ring of rows of the picture, or one row of the output
  std::vector<int> held_;        // the row of the picture at each place of the ring, or -1
  std::vector<const uint8_t*> passed_rows_;
  std::vector<int32_t> byte_sums_;
  std::vector<uint8_t> byte_row_;  // one row of the output
};

}  // namespace vitrine

#endif  // VITRINE_IMAGING_ROW_RESIZER_H_
