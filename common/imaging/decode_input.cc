// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/decode_input.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/imaging/codecs/jpeg.h"
#include "common/imaging/decode_planned.h"
#include "common/imaging/header.h"
#include "common/imaging/preprocess.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Keeps the last rows of an image in a ring buffer. Computes each row of the model's input as soon as the ring has the
// image rows that this row depends on.
class RingOfRows : public JpegRows {
 public:
  RingOfRows(Size image, const v1::Preprocessing& preprocessing, const Geometry& geometry)
      : input_(image, preprocessing, geometry), rows_(input_.resizer().most_rows()) {}

  ImagePart part() const { return input_.resizer().part(); }

  void Begin(int left, int width, int channels) override {
    channels_ = channels;
    row_bytes_ = static_cast<size_t>(width) * channels;
    unused_bytes_ = static_cast<size_t>(part().left - left) * channels;
    ring_ = std::make_unique_for_overwrite<uint8_t[]>(row_bytes_ * rows_.size());
  }

  uint8_t* RoomFor(int y) override { return ring_.get() + y % rows_.size() * row_bytes_; }

  void Take(int y) override {
    const RowResizer& resizer = input_.resizer();
    for (; next_ < resizer.height() && resizer.end_of(next_) <= y + 1; ++next_) {
      const int first = resizer.first_of(next_);
      for (int row = first; row < resizer.end_of(next_); ++row) rows_[row - first] = RoomFor(row) + unused_bytes_;
      input_.Make(next_, rows_.data(), channels_);
    }
  }

  std::vector<float> TakeInput() { return input_.Take(); }

 private:
  InputRows input_;
  int channels_ = 0;
  size_t row_bytes_ = 0;
  size_t unused_bytes_ = 0;  // bytes of a row before the columns that the input depends on
  std::unique_ptr<uint8_t[]> ring_;
  std::vector<const uint8_t*> rows_;  // rows of the image for the next input row
  int next_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<float>> DecodeInput(std::string_view bytes, const v1::Preprocessing& preprocessing,
                                               const Geometry& geometry) {
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(bytes));
  const bool as_planned = Size{header.height, header.width} == geometry.original;
  if (header.format != ImageFormat::kJpeg || header.orientation != 1 || !as_planned) {
    ASSIGN_OR_RETURN(const Image image, DecodePlanned(bytes, preprocessing, geometry));
    return Preprocess(image, preprocessing, geometry);
  }
  RingOfRows rows(DecodedSize(preprocessing, geometry), preprocessing, geometry);
  RETURN_IF_ERROR(
      DecodeJpegRows(bytes, header, ImageLimits(), DecodeDivisor(preprocessing, geometry), rows.part(), rows));
  return rows.TakeInput();
}

absl::StatusOr<PlannedInput> PlanAndDecodeInput(std::string_view bytes, const v1::Preprocessing& preprocessing) {
  PlannedInput planned;
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(bytes));
  ASSIGN_OR_RETURN(planned.geometry, PlanGeometry(preprocessing, Size{header.height, header.width}));
  ASSIGN_OR_RETURN(planned.values, DecodeInput(bytes, preprocessing, planned.geometry));
  return planned;
}

}  // namespace vitrine
