// SPDX-License-Identifier: Apache-2.0
#include "client/load/answer_check.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "vitrine/v1/classifier.pb.h"

namespace vitrine {

AnswerKind KindOfAnswer(absl::string_view bytes) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  bool predictions = false;
  while (const uint32_t tag = input.ReadTag()) {
    predictions |= WireFormatLite::GetTagFieldNumber(tag) == v1::ClassifyResponse::kPredictionsFieldNumber &&
                   WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!WireFormatLite::SkipField(&input, tag)) return AnswerKind::kUnreadable;
  }
  if (!input.ConsumedEntireMessage()) return AnswerKind::kUnreadable;
  return predictions ? AnswerKind::kWithPredictions : AnswerKind::kWithoutPredictions;
}

std::optional<StreamAnswerParts> PartsOfStreamAnswer(absl::string_view bytes) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  StreamAnswerParts parts;
  while (const uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) return std::nullopt;
      continue;
    }
    int size = 0;
    if (!input.ReadVarintSizeAsInt(&size)) return std::nullopt;
    const absl::string_view field =
        bytes.substr(static_cast<size_t>(input.CurrentPosition()), static_cast<size_t>(size));
    if (!input.Skip(size)) return std::nullopt;
    switch (WireFormatLite::GetTagFieldNumber(tag)) {
      case v1::ClassifyStreamResponse::kRequestIdFieldNumber:
        parts.request_id = field;
        break;
      case v1::ClassifyStreamResponse::kResponseFieldNumber:
        parts.response = field;
        parts.error.reset();
        break;
      case v1::ClassifyStreamResponse::kErrorFieldNumber:
        parts.error = field;
        parts.response.reset();
        break;
      default:  // a field of a later version of the contract
        break;
    }
  }
  if (!input.ConsumedEntireMessage()) return std::nullopt;
  return parts;
}

}  // namespace vitrine
