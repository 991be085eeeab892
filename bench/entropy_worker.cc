// SPDX-License-Identifier: Apache-2.0
// What no user of libjpeg-turbo can leave out of a JPEG: its entropy coding undone, by jpeg_read_coefficients. No
// transform, no colours, no pixels: beside decode_worker.cc it tells how much of a picture's time is anybody's to save.
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

// Errors end the process, as libjpeg's own handler has it: decode_worker.cc took the same pictures before.
absl::Status UndoEntropyCoding(std::string_view picture, const v1::Preprocessing&, std::vector<float>& input) {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(picture.data()), picture.size());
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
