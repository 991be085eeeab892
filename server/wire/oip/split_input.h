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

// Name of a request's only input. Its datatype determines the content.
inline constexpr char kInputName[] = "image";

// Pixel scaling of a tensor view and the model's preprocessing.
struct TensorView {
  PixelScale scale;
  const v1::Preprocessing& preprocessing;  // the model's
};

// Limit on the images in one request.
inline constexpr int kMaxBatch = 64;

// In raw contents each BYTES element follows its length, of this many little-endian bytes.
inline constexpr size_t kElementLengthBytes = 4;
uint32_t ElementLength(std::string_view raw);  // length of the first element; requires kElementLengthBytes bytes
std::string ElementLengthOf(std::string_view element);  // the length as raw bytes

// Splits the input of `request` into one request for each image, with only its image or tensor set. Raw contents are
// not copied; typed ones are moved out of `request`.
// - BYTES [n] or [n, 1]: JPEG, PNG or WebP files, or their base64 (see ReadBase64), which the parameter content_type
// "base64" may declare.
// - UINT8 [n, H, W, C] or [n, C, H, W]: pixels from 0 to 255.
// - FP32 of the same shapes: pixels from 0 to 1; with the parameter normalized, the model's normalized input.
// C is 1 or 3 and determines the layout; if two sides could be C, the parameter layout (NHWC or NCHW) is required. The
// parameter binary_data_size is ignored.
// For a tensor view (`view` is not null) the input is FP32 [n, C, H, W] with pixels as in ToModelInput, without
// parameters.
// INVALID_ARGUMENT names the fault; the values (an image's bytes, a float's range) are not checked, except for a view.
// UNIMPLEMENTED for shared memory.
absl::StatusOr<std::vector<ReceivedClassify>> SplitInput(ReceivedInfer& request, const TensorView* view = nullptr);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_SPLIT_INPUT_H_
