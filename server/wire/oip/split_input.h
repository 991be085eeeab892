// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_SPLIT_INPUT_H_
#define VITRINE_SERVER_WIRE_OIP_SPLIT_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/wire/message/read_message.h"
#include "server/wire/oip/tensor_view.h"

namespace vitrine {

// Name of a request's only input. Its datatype determines its content.
inline constexpr char kInputName[] = "image";

// Pixel scaling of a tensor view, and the model's preprocessing.
struct TensorView {
  PixelScale scale;
  const v1::Preprocessing& preprocessing;  // preprocessing of the model
};

// Maximum number of images in one request.
inline constexpr int kMaxBatch = 64;

// Size of the little-endian length before each BYTES element in raw contents.
inline constexpr size_t kElementLengthBytes = 4;
// Returns the length of the first element. `raw` must have at least kElementLengthBytes bytes.
uint32_t ElementLength(std::string_view raw);
std::string ElementLengthOf(std::string_view element);  // returns the length of `element` as raw bytes

// Splits the input of `request` into one request per image, in which only the image or tensor is set. Values in
// raw_input_contents are not copied. In typed contents, elements of bytes_contents are moved out of `request`, and
// numbers are copied.
// - BYTES [n] or [n, 1]: JPEG, PNG or WebP files, or such files as base64 (see ReadBase64). A client may set the
//   parameter content_type to "base64".
// - UINT8 [n, H, W, C] or [n, C, H, W]: pixels from 0 to 255.
// - FP32 of the same shapes: pixels from 0 to 1, or the model's normalized input if the parameter `normalized` is true.
// The shape in which C is 1 or 3 determines the layout. If C is 1 or 3 in both shapes, the parameter `layout` (NHWC or
// NCHW) is required. The parameter binary_data_size is ignored. If `view` is not null, the input is FP32 [n, C, H, W]
// without parameters; ToModelInput describes its pixels.
// INVALID_ARGUMENT: the message names the fault. UNIMPLEMENTED: the input is in shared memory. Image files are not
// parsed here; the range of floats is checked only for a view.
absl::StatusOr<std::vector<ReceivedClassify>> SplitInput(ReceivedInfer& request, const TensorView* view = nullptr);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_SPLIT_INPUT_H_
