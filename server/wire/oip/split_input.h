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

// The one input of a request. Its datatype says what it holds.
inline constexpr char kInputName[] = "image";

// How a model is looked at.
struct TensorView {
  PixelScale scale;
  const v1::Preprocessing& preprocessing;  // the model's
};

// Most pictures in one request.
inline constexpr int kMaxBatch = 64;

// In raw contents each element of BYTES follows its length, which is so many little-endian bytes.
inline constexpr size_t kElementLengthBytes = 4;
uint32_t ElementLength(std::string_view raw);           // of the first element; requires these bytes
std::string ElementLengthOf(std::string_view element);  // these bytes

// Takes the input of `request` apart: one request for each element of the batch, with nothing but its picture or
// tensor set. Raw contents stay where they are; typed ones are moved out of `request`.
// - BYTES [n] or [n, 1]: JPEG, PNG or WebP files, or base64 text of them (see ReadBase64), which the parameter
//   content_type "base64" may say.
// - UINT8 [n, H, W, C] or [n, C, H, W]: pixels from 0 to 255.
// - FP32 of the same shapes: pixels from 0 to 1; with the parameter normalized what the model computes with.
// C is 1 or 3 and tells the layout; where two sides could be C, the parameter layout (NHWC or NCHW) must.
// The parameter binary_data_size is ignored.
// INVALID_ARGUMENT says what is wrong; the values themselves (a picture's bytes, a float's range) are not looked at.
// Of a tensor view (`view` is not null) it is FP32 [n, C, H, W] of pixels as ToModelInput takes them, without
// parameters. UNIMPLEMENTED for shared memory.
absl::StatusOr<std::vector<ReceivedClassify>> SplitInput(ReceivedInfer& request, const TensorView* view = nullptr);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_SPLIT_INPUT_H_
