// SPDX-License-Identifier: Apache-2.0
// Decodes only the entropy coding of a JPEG, with jpeg_read_coefficients: no transform, colours or pixels. Every
// program with libjpeg-turbo must do this work, so it is a lower bound for the time of decode_worker.cc.
#include <cstddef>
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jpeglib.h>

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bench/input_work.h"

namespace vitrine {
namespace {

// Errors end the process, like libjpeg's default handler. None is expected: decode_worker.cc decoded the same images
// before.
absl::Status UndoEntropyCoding(std::string_view image, const v1::Preprocessing&, std::vector<float>& input) {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(image.data()), image.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg_read_coefficients(&jpeg);
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  input.clear();
  return absl::OkStatus();
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::ServeInputs(argc, argv, "bench_entropy_worker", "libjpeg-turbo, no pixels",
                              vitrine::UndoEntropyCoding);
}
