// SPDX-License-Identifier: Apache-2.0
// Makes the same input as decode_worker.cc with TurboJPEG and OpenCV, for comparison. For speed, it reuses handle and
// memory between images, resizes only the crop, and converts to planar floats with OpenCV's vector code. TurboJPEG has
// the settings of decode_worker.cc: accurate DCT and smooth colour upsampling.
#include <turbojpeg.h>

#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/input_work.h"
#include "common/imaging/decode_planned.h"
#include "common/imaging/geometry.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

struct DestroyDecoder {
  void operator()(tjhandle handle) const { tjDestroy(handle); }
};

class TurboJpegInput {
 public:
  absl::Status Make(std::string_view jpeg, const v1::Preprocessing& preprocessing, std::vector<float>& input) {
    Size size;
    if (!ReadSize(jpeg, size)) return Damaged();
    ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, size));
    const int divisor = DecodeDivisor(preprocessing, geometry);
    const Size decoded = {(size.height + divisor - 1) / divisor, (size.width + divisor - 1) / divisor};
    if (!Decode(jpeg, decoded)) return Damaged();
    const cv::Mat image(decoded.height, decoded.width, CV_8UC3, pixels_.data());
    cv::resize(image(Crop(geometry, decoded)), resized_, {geometry.input.width, geometry.input.height}, 0, 0,
               cv::INTER_AREA);
    Normalise(preprocessing, input);
    return absl::OkStatus();
  }

 private:
  absl::Status Damaged() const {
    return absl::InvalidArgumentError(absl::StrCat("TurboJPEG: ", tjGetErrorStr2(decoder_.get())));
  }

  bool ReadSize(std::string_view jpeg, Size& size) {
    int subsampling = 0;
    int colours = 0;
    return tjDecompressHeader3(decoder_.get(), reinterpret_cast<const uint8_t*>(jpeg.data()), jpeg.size(), &size.width,
                               &size.height, &subsampling, &colours) == 0;
  }

  bool Decode(std::string_view jpeg, Size size) {
    constexpr int kChannels = 3;
    const size_t bytes = static_cast<size_t>(size.height) * size.width * kChannels;
    if (pixels_.size() < bytes) pixels_.resize(bytes);
    return tjDecompress2(decoder_.get(), reinterpret_cast<const uint8_t*>(jpeg.data()), jpeg.size(), pixels_.data(),
                         size.width, 0, size.height, TJPF_RGB, TJFLAG_ACCURATEDCT) == 0;
  }

  // Returns the crop, rounded to whole pixels.
  static cv::Rect Crop(const Geometry& geometry, Size decoded) {
    const double rows = static_cast<double>(decoded.height) / geometry.scaled.height;
    const double columns = static_cast<double>(decoded.width) / geometry.scaled.width;
    const cv::Rect crop(cvRound(geometry.left * columns), cvRound(geometry.top * rows),
                        cvRound(geometry.input.width * columns), cvRound(geometry.input.height * rows));
    return crop & cv::Rect(0, 0, decoded.width, decoded.height);
  }

  void Normalise(const v1::Preprocessing& preprocessing, std::vector<float>& input) {
    cv::split(resized_, planes_);
    const size_t count = resized_.total();
    input.resize(planes_.size() * count);
    for (int c = 0; c < preprocessing.channels(); ++c) {
      cv::Mat plane(resized_.size(), CV_32F, &input[c * count]);
      const double std = preprocessing.std(c);
      planes_[c].convertTo(plane, CV_32F, 1 / (255 * std), -preprocessing.mean(c) / std);
    }
  }

  std::unique_ptr<std::remove_pointer_t<tjhandle>, DestroyDecoder> decoder_{tjInitDecompress()};
  std::vector<uint8_t> pixels_;
  cv::Mat resized_;
  std::vector<cv::Mat> planes_;
};

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  cv::setNumThreads(1);
  vitrine::TurboJpegInput peer;
  return vitrine::ServeInputs(argc, argv, "bench_turbojpeg_worker",
                              "TurboJPEG " VITRINE_TURBOJPEG ", OpenCV " CV_VERSION,
                              [&](auto&&... arguments) { return peer.Make(arguments...); });
}
