// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/split_input.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/imaging/file_type.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/oip/base64.h"
#include "server/wire/oip/parameters.h"

namespace vitrine {
namespace {

using inference::InferTensorContents;
using InputTensor = inference::ModelInferRequest::InferInputTensor;

constexpr int64_t kMaxSide = 8192;

absl::Status RefuseInput(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("input \"", kInputName, "\" ", std::string(what)));
}

std::string ShapeText(const InputTensor& input) {
  constexpr int kShownDims = 8;
  const auto end = input.shape().begin() + std::min(kShownDims, input.shape_size());
  return absl::StrCat("[", absl::StrJoin(input.shape().begin(), end, ", "),
                      input.shape_size() > kShownDims ? ", ...]" : "]");
}

// Returns the first dimension, the batch size.
absl::StatusOr<int64_t> BatchOf(const InputTensor& input) {
  const int64_t batch = input.shape_size() == 0 ? 0 : input.shape(0);
  if (batch >= 1 && batch <= kMaxBatch) return batch;
  return RefuseInput(absl::StrCat("has the shape ", ShapeText(input), "; its first dimension counts the images, 1 to ",
                                  kMaxBatch, " in a request"));
}

// Splits raw contents into elements. In raw contents, each element is preceded by its length.
absl::StatusOr<std::vector<std::string_view>> CutElements(std::string_view raw, int64_t batch) {
  std::vector<std::string_view> elements;
  for (int64_t i = 0; i < batch; ++i) {
    if (raw.size() < kElementLengthBytes || raw.size() - kElementLengthBytes < ElementLength(raw)) {
      return RefuseInput(absl::StrCat("ends within element ", i, " of ", batch,
                                      "; each element follows its length as four little-endian bytes"));
    }
    const size_t length = ElementLength(raw);
    elements.push_back(raw.substr(kElementLengthBytes, length));
    raw.remove_prefix(kElementLengthBytes + length);
  }
  if (raw.empty()) return elements;
  return RefuseInput(absl::StrCat("has ", raw.size(), " bytes after its last element"));
}

MessageBytes Owned(std::string bytes) {
  return std::make_shared<const ReceivedBytes>(ReceivedBytes{std::move(bytes), {}});
}

ReceivedClassify ImageOf(std::string_view bytes, MessageBytes owner) {
  ReceivedClassify part{.input = bytes, .owner = std::move(owner)};
  part.message.mutable_image();
  return part;
}

// Splits BYTES contents. Each element of bytes_contents is moved into a separate ReceivedClassify::owner.
absl::StatusOr<std::vector<ReceivedClassify>> SplitElements(ReceivedInfer& request, InputTensor& input,
                                                            const std::string_view* raw, int64_t batch) {
  std::vector<ReceivedClassify> parts;
  if (raw != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<std::string_view> elements, CutElements(*raw, batch));
    for (const std::string_view element : elements) parts.push_back(ImageOf(element, request.owner));
    return parts;
  }
  auto& contents = *input.mutable_contents()->mutable_bytes_contents();
  if (contents.size() != batch) {
    return RefuseInput(absl::StrCat("has ", contents.size(), " elements, but its shape says ", batch));
  }
  for (std::string& element : contents) {
    MessageBytes owner = Owned(std::move(element));
    const std::string_view bytes = owner->bytes;
    parts.push_back(ImageOf(bytes, std::move(owner)));
  }
  return parts;
}

// Replaces base64 by the decoded file. If base64 is not declared, leaves an element unchanged in two cases: the element
// is an image file, or it does not decode to a file of a known type. Rejects texts that MistakenForBase64 recognizes.
absl::Status DecodeElement(bool is_base64, size_t element, ReceivedClassify& part) {
  if (!is_base64 && LooksLikeImage(part.input)) return absl::OkStatus();
  absl::StatusOr<std::string> decoded = ReadBase64(part.input);
  const bool is_file = decoded.ok() && (LooksLikeImage(*decoded) || !FileTypeOf(*decoded).empty());
  const auto refuse = [&](std::string_view what) {
    return RefuseInput(absl::StrCat("in element ", element, " ", std::string(what)));
  };
  if (!is_file) {
    const std::string_view mistake = MistakenForBase64(part.input);
    if (!mistake.empty()) return refuse(mistake);
  }
  if (!is_base64 && !is_file) return absl::OkStatus();
  if (!decoded.ok()) return refuse(std::string(decoded.status().message()));
  part.owner = Owned(*std::move(decoded));
  part.input = part.owner->bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ReceivedClassify>> SplitFiles(ReceivedInfer& request, InputTensor& input,
                                                         const std::string_view* raw) {
  ASSIGN_OR_RETURN(const int64_t batch, BatchOf(input));
  if (input.shape_size() > 2 || (input.shape_size() == 2 && input.shape(1) != 1)) {
    return RefuseInput(absl::StrCat("has the shape ", ShapeText(input), "; of BYTES it must be [n] or [n, 1]"));
  }
  ASSIGN_OR_RETURN(const auto content_type, Text(input.parameters(), "content_type"));
  if (content_type.has_value() && *content_type != "base64") {
    return RefuseInput(
        absl::StrCat("has the content_type \"", Shown(*content_type), "\"; only \"base64\" is supported"));
  }
  ASSIGN_OR_RETURN(std::vector<ReceivedClassify> parts, SplitElements(request, input, raw, batch));
  for (size_t i = 0; i < parts.size(); ++i) {
    RETURN_IF_ERROR(DecodeElement(content_type.has_value(), i, parts[i]));
  }
  return parts;
}

bool IsChannels(int64_t dimension) {
  return dimension == 1 || dimension == 3;
}

absl::StatusOr<v1::RawTensor::Layout> LayoutOf(const InputTensor& input) {
  ASSIGN_OR_RETURN(const auto layout, Text(input.parameters(), "layout"));
  if (layout == "NHWC") return v1::RawTensor::HWC;
  if (layout == "NCHW") return v1::RawTensor::CHW;
  if (layout.has_value())
    return RefuseInput(absl::StrCat("has the layout \"", Shown(*layout), "\"; NHWC and NCHW are supported"));
  const bool last = IsChannels(input.shape(3));
  const bool first = IsChannels(input.shape(1));
  if (last != first) return last ? v1::RawTensor::HWC : v1::RawTensor::CHW;
  return RefuseInput(
      absl::StrCat("has the shape ", ShapeText(input), ", ",
                   last ? "which can be read both ways; say which with the parameter layout (NHWC or NCHW)"
                        : "but neither [n, H, W, C] nor [n, C, H, W] with 1 or 3 channels"));
}

// Returns a RawTensor that describes one image. Its data is not set.
absl::StatusOr<v1::RawTensor> FormOf(const InputTensor& input, const TensorView* view) {
  const bool is_float = input.datatype() == "FP32";
  if (input.shape_size() != 4) {
    return RefuseInput(absl::StrCat("has the shape ", ShapeText(input), "; an input of ", input.datatype(),
                                    " must have the shape [n, H, W, C] or [n, C, H, W]"));
  }
  if (std::any_of(input.shape().begin() + 1, input.shape().end(), [](int64_t n) { return n < 1 || n > kMaxSide; })) {
    return RefuseInput(absl::StrCat("has the shape ", ShapeText(input), "; each side must be 1 to ", kMaxSide));
  }
  ASSIGN_OR_RETURN(const auto normalized, Truth(input.parameters(), "normalized"));
  if (normalized.value_or(false) && !is_float) return RefuseInput("is normalized, but is not FP32");
  v1::RawTensor form;
  ASSIGN_OR_RETURN(const v1::RawTensor::Layout layout,
                   view == nullptr ? LayoutOf(input) : absl::StatusOr<v1::RawTensor::Layout>(v1::RawTensor::CHW));
  const bool chw = layout == v1::RawTensor::CHW;
  form.set_layout(layout);
  form.set_data_type(is_float ? v1::RawTensor::DATA_FLOAT32 : v1::RawTensor::DATA_UINT8);
  form.set_normalized(view != nullptr || normalized.value_or(false));
  form.set_height(static_cast<int32_t>(input.shape(chw ? 2 : 1)));
  form.set_width(static_cast<int32_t>(input.shape(chw ? 3 : 2)));
  form.set_channels(static_cast<int32_t>(input.shape(chw ? 1 : 3)));
  return form;
}

// Converts typed values to bytes in the format of raw_input_contents.
absl::StatusOr<std::string> PackContents(const InputTensor& input) {
  const InferTensorContents& contents = input.contents();
  std::string packed;
  if (input.datatype() == "FP32") {
    const auto* bytes = reinterpret_cast<const char*>(contents.fp32_contents().data());
    // assign is used instead of memcpy, because data() is null if there are no values
    packed.assign(bytes, contents.fp32_contents_size() * sizeof(float));
    return packed;
  }
  packed.reserve(contents.uint_contents_size());
  for (const uint32_t value : contents.uint_contents()) {
    if (value > 255) return RefuseInput(absl::StrCat("contains ", value, ", which is not a UINT8 value"));
    packed.push_back(static_cast<char>(value));
  }
  return packed;
}

// Replaces the pixels in `parts`, which are in the view's scale, by the model's normalized input.
absl::Status NormalizeParts(const InputTensor& input, const TensorView& view, std::vector<ReceivedClassify>& parts) {
  const int channels = view.preprocessing.channels();
  if (parts.front().message.tensor().channels() != channels) {
    return RefuseInput(
        absl::StrCat("has the shape ", ShapeText(input), "; the model accepts [n, ", channels, ", H, W]"));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::StatusOr<std::string> values = ToModelInput(view.scale, view.preprocessing, parts[i].input);
    if (!values.ok()) return RefuseInput(absl::StrCat("in element ", i, " ", std::string(values.status().message())));
    parts[i].owner = Owned(*std::move(values));
    parts[i].input = parts[i].owner->bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ReceivedClassify>> SplitTensor(ReceivedInfer& request, const InputTensor& input,
                                                          const std::string_view* raw, const TensorView* view) {
  ASSIGN_OR_RETURN(const int64_t batch, BatchOf(input));
  ASSIGN_OR_RETURN(const v1::RawTensor form, FormOf(input, view));
  MessageBytes owner = request.owner;
  if (raw == nullptr) {
    ASSIGN_OR_RETURN(std::string packed, PackContents(input));
    owner = Owned(std::move(packed));
  }
  const std::string_view values = raw != nullptr ? *raw : std::string_view(owner->bytes);
  const int64_t value_bytes = form.data_type() == v1::RawTensor::DATA_FLOAT32 ? 4 : 1;
  const int64_t each = int64_t{form.height()} * form.width() * form.channels() * value_bytes;
  const int64_t sent = static_cast<int64_t>(values.size());
  if (sent != batch * each) {
    return RefuseInput(absl::StrCat("has ", sent / value_bytes, " values (", sent, " bytes), but its shape ",
                                    ShapeText(input), " of ", input.datatype(), " needs ", batch * each, " bytes"));
  }
  std::vector<ReceivedClassify> parts(batch);
  for (int64_t i = 0; i < batch; ++i) {
    *parts[i].message.mutable_tensor() = form;
    parts[i].input = values.substr(i * each, each);
    parts[i].owner = owner;
  }
  if (view != nullptr) RETURN_IF_ERROR(NormalizeParts(input, *view, parts));
  return parts;
}

}  // namespace

uint32_t ElementLength(std::string_view raw) {
  const auto at = [&](int i) { return uint32_t{static_cast<uint8_t>(raw[i])}; };
  return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
}

std::string ElementLengthOf(std::string_view element) {
  std::string length;
  for (size_t i = 0; i < kElementLengthBytes; ++i) length.push_back(static_cast<char>(element.size() >> 8 * i & 0xFF));
  return length;
}

absl::StatusOr<std::vector<ReceivedClassify>> SplitInput(ReceivedInfer& request, const TensorView* view) {
  inference::ModelInferRequest& message = request.message;
  if (message.inputs_size() != 1 || message.inputs(0).name() != kInputName) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the request has ", message.inputs_size(), " inputs",
        message.inputs_size() == 0 ? "" : absl::StrCat(", the first \"", Shown(message.inputs(0).name()), "\""),
        "; it must have one, \"", kInputName, "\""));
  }
  InputTensor& input = *message.mutable_inputs(0);
  // binary_data_size is ignored: KServe's client also sends it over gRPC, where raw_input_contents has the sizes.
  const std::string whose = absl::StrCat("input \"", kInputName, "\"");
  RETURN_IF_ERROR(view == nullptr ? CheckNames(input.parameters(), whose,
                                               {"content_type", "layout", "normalized", "binary_data_size"})
                                  : CheckNames(input.parameters(), whose, {"binary_data_size"}));
  if (request.raw.size() > 1 || (request.raw.size() == 1 && input.has_contents())) {
    return RefuseInput("has its values twice; give raw_input_contents once, or contents");
  }
  const std::string_view* const raw = request.raw.empty() ? nullptr : &request.raw.front();
  if (view != nullptr && input.datatype() != "FP32") {
    return RefuseInput(absl::StrCat("has the datatype \"", Shown(input.datatype()), "\"; a tensor view accepts FP32"));
  }
  if (input.datatype() == "BYTES") return SplitFiles(request, input, raw);
  if (input.datatype() == "UINT8" || input.datatype() == "FP32") return SplitTensor(request, input, raw, view);
  return RefuseInput(
      absl::StrCat("has the datatype \"", Shown(input.datatype()), "\"; it must be BYTES, UINT8 or FP32"));
}

}  // namespace vitrine
