// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_outline.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <string_view>
#include <utility>

#include "server/wire/oip/split_input.h"

namespace vitrine {

std::optional<Outline<inference::ModelInferRequest>> InferOutlineOf(grpc::ByteBuffer& bytes, size_t picture_bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  google::protobuf::io::CodedInputStream from(&reader);
  Outline<inference::ModelInferRequest> outline;
  inference::ModelInferRequest& request = outline.request;
  std::string front, beside;
  bool has_raw = false;
  const auto read_raw = [&](int) {
    has_raw = true;
    return ReadFront(from, kElementLengthBytes + picture_bytes, &front, outline.left_out);
  };
  if (!ReadFields(from, {inference::ModelInferRequest::kRawInputContentsFieldNumber}, read_raw, beside) || !has_raw ||
      !request.ParseFromString(beside) || request.inputs_size() != 1) {
    return std::nullopt;
  }
  const inference::ModelInferRequest::InferInputTensor& input = request.inputs(0);
  if (input.shape_size() == 0 || input.shape(0) != 1 || input.parameters().contains("content_type")) {
    return std::nullopt;
  }
  outline.is_picture = input.datatype() == "BYTES";
  if (outline.is_picture) {
    const int64_t size = static_cast<int64_t>(front.size()) + outline.left_out - int64_t{kElementLengthBytes};
    if (size < 0 || ElementLength(front) != size) return std::nullopt;
    front.replace(0, kElementLengthBytes, ElementLengthOf(std::string_view(front).substr(kElementLengthBytes)));
  } else {
    outline.left_out += static_cast<int64_t>(front.size());
    front.clear();
  }
  request.add_raw_input_contents(std::move(front));
  return outline;
}

}  // namespace vitrine
