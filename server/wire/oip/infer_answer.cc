// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_answer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "server/wire/oip/split_input.h"

namespace vitrine {
namespace {

using inference::ModelInferResponse;

float ValueOf(const v1::Prediction& prediction, const std::string& output) {
  return output == kLogits ? prediction.logit() : prediction.probability();
}

// Appends [classes] values in class order. The predictions must contain every class.
void AppendNumbers(const v1::ClassifyResponse& part, const std::string& output, std::string& raw) {
  const size_t begin = raw.size();
  raw.resize(begin + part.predictions_size() * sizeof(float));
  for (const v1::Prediction& prediction : part.predictions()) {
    const float value = ValueOf(prediction, output);
    std::memcpy(raw.data() + begin + prediction.index() * sizeof(float), &value, sizeof(float));
  }
}

// Appends the first `best` predictions, which are sorted by descending value.
void AppendTexts(const v1::ClassifyResponse& part, const std::string& output, int best, std::string& raw) {
  for (int i = 0; i < best; ++i) {
    const v1::Prediction& prediction = part.predictions(i);
    std::string text = absl::StrFormat("%f:%d", ValueOf(prediction, output), prediction.index());
    if (!prediction.label().empty()) absl::StrAppend(&text, ":", prediction.label());
    absl::StrAppend(&raw, ElementLengthOf(text), text);
  }
}

// Appends each image's only map: [rows, columns] values.
absl::Status AppendAttention(const std::vector<v1::ClassifyResponse>& parts,
                             ModelInferResponse::InferOutputTensor& tensor, std::string& raw) {
  const v1::AttentionMap& first = parts.front().attention(0);
  for (const v1::ClassifyResponse& part : parts) {
    const v1::AttentionMap& map = part.attention(0);
    if (map.rows() != first.rows() || map.columns() != first.columns()) {
      return absl::InvalidArgumentError(absl::StrCat("the attention maps of the batch have different sizes (",
                                                     first.rows(), " x ", first.columns(), ", ", map.rows(), " x ",
                                                     map.columns(),
                                                     "), which form no tensor; send images of one size, or one "
                                                     "image in a request"));
    }
    raw.append(map.values());
  }
  tensor.set_datatype("FP32");
  tensor.add_shape(first.rows());
  tensor.add_shape(first.columns());
  return absl::OkStatus();
}

// Appends each image's only feature: [width] or [registers, width] values. Sets the parameters.
void AppendEmbedding(const std::vector<v1::ClassifyResponse>& parts, ModelInferResponse::InferOutputTensor& tensor,
                     std::string& raw) {
  int64_t tokens = 0;
  for (const v1::ClassifyResponse& part : parts) {
    raw.append(part.features(0).values());
    tokens += int64_t{part.grid().rows()} * part.grid().columns();
  }
  tensor.set_datatype("FP32");
  const v1::Feature& first = parts.front().features(0);
  if (first.kind() == v1::REGISTER_TOKENS) tensor.add_shape(first.columns());
  tensor.add_shape(first.width());
  (*tensor.mutable_parameters())[kWeightsParameter].set_string_param(parts.front().served_by().weights_sha256());
  (*tensor.mutable_parameters())[kTokensParameter].set_int64_param(tokens);
}

// Appends one byte per image; the tensor has no other dimension.
void AppendUnsure(const std::vector<v1::ClassifyResponse>& parts, ModelInferResponse::InferOutputTensor& tensor,
                  std::string& raw) {
  tensor.set_datatype("BOOL");
  for (const v1::ClassifyResponse& part : parts) raw.push_back(part.unsure() ? '\1' : '\0');
}

void AppendPredictions(const RequestedOutput& output, const std::vector<v1::ClassifyResponse>& parts,
                       ModelInferResponse::InferOutputTensor& tensor, std::string& raw) {
  const bool is_text = output.classification > 0;
  tensor.set_datatype(is_text ? "BYTES" : "FP32");
  tensor.add_shape(is_text ? output.classification : parts.front().predictions_size());
  for (const v1::ClassifyResponse& part : parts) {
    if (is_text) {
      AppendTexts(part, output.name, output.classification, raw);
    } else {
      AppendNumbers(part, output.name, raw);
    }
  }
}

}  // namespace

absl::StatusOr<ModelInferResponse> MakeInferResponse(const std::vector<RequestedOutput>& outputs,
                                                     const std::vector<v1::ClassifyResponse>& parts) {
  ModelInferResponse response;
  response.set_model_name(parts.front().served_by().model());
  response.set_model_version(absl::StrCat(parts.front().served_by().version()));
  response.set_id(parts.front().request_id());
  for (const RequestedOutput& output : outputs) {
    auto& tensor = *response.add_outputs();
    std::string& raw = *response.add_raw_output_contents();
    tensor.set_name(output.name);
    tensor.add_shape(static_cast<int64_t>(parts.size()));
    if (output.name == kAttention) {
      RETURN_IF_ERROR(AppendAttention(parts, tensor, raw));
    } else if (output.name == kEmbedding) {
      AppendEmbedding(parts, tensor, raw);
    } else if (output.name == kUnsure) {
      AppendUnsure(parts, tensor, raw);
    } else {
      AppendPredictions(output, parts, tensor, raw);
    }
  }
  return response;
}

}  // namespace vitrine
