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

}  // namespace vitrine
