// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary bytes as requests of the Open Inference Protocol. A request must be rejected with a status, or be
// planned image by image, answered, and written as the body of an HTTP response. The first byte selects the form of the
// request.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/serve/request/plan_request.h"
#include "server/wire/http/refusal.h"
#include "server/wire/oip/infer_answer.h"
#include "server/wire/oip/infer_body.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/split_input.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

enum Form { kMessage, kJson, kSplitJson, kForms };

const ModelHandle& TheModel() {
  static const ModelHandle& model = *new ModelHandle(ServedEit());
  return model;
}

// Returns an executor's response with made-up values.
v1::ClassifyResponse AnswerTo(const InferenceRequest& plan) {
  v1::ClassifyResponse answer;
  answer.set_request_id(plan.request.request_id());
  for (int i = 0; i < plan.top_k; ++i) {
    v1::Prediction& prediction = *answer.add_predictions();
    prediction.set_index(i);
    prediction.set_label("class");
  }
  for (size_t i = 0; i < plan.features.size(); ++i) answer.add_features();
  for (size_t i = 0; i < plan.attention.size(); ++i) {
    v1::AttentionMap& map = *answer.add_attention();
    map.set_rows(plan.grid.rows);
    map.set_columns(plan.grid.columns);
    map.mutable_values()->resize(sizeof(float) * plan.grid.cells());
  }
  return answer;
}

// Returns null if the request is rejected.
std::optional<inference::ModelInferResponse> Answer(ReceivedInfer request) {
  (void)TimeoutOf(request.message).ok();
  const v1::ModelConfig& config = TheModel()->manifest.config();
  const int classes = config.classes();
  const absl::StatusOr<ModelName> named = ReadModelName(request.message.model_name());
  std::optional<TensorView> view;
  if (named.ok() && named->view.has_value())
    view.emplace(TensorView{.scale = *named->view, .preprocessing = config.preprocessing()});
  auto plan =
      PlanInfer(std::move(request),
                {.classes = classes, .features = TheModel()->features, .view = view.has_value() ? &*view : nullptr});
  if (!plan.ok()) return std::nullopt;
  Require(!plan->parts.empty() && plan->parts.size() <= kMaxBatch && !plan->outputs.empty());
  std::vector<v1::ClassifyResponse> answers;
  for (ReceivedClassify& part : plan->parts) {
    Require(part.message.top_k() <= classes && (part.message.has_image() || part.message.has_tensor()));
    const auto planned = PlanRequest(std::move(part), TheModel());
    if (!planned.ok()) return std::nullopt;
    answers.push_back(AnswerTo(*planned));
  }
  auto answer = MakeInferResponse(plan->outputs, answers);
  if (!answer.ok()) return std::nullopt;
  Require(answer->outputs_size() == static_cast<int>(plan->outputs.size()));
  return *std::move(answer);
}

// Requires that `read` equals protobuf's result, but has the raw contents in a separate list.
void CheckRead(const absl::StatusOr<ReceivedInfer>& read, std::string_view bytes) {
  inference::ModelInferRequest expected;
  const bool parses = expected.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!read.ok()) {
    Require(read.status().code() == absl::StatusCode::kInvalidArgument);
    return Require(!parses || bytes.size() > (size_t{8} << 10));  // a valid short message must be accepted
  }
  Require(parses && read->raw.size() == std::min<size_t>(expected.raw_input_contents_size(), kMostRawContents));
  for (size_t i = 0; i < read->raw.size(); ++i) {
    Require(read->raw[i] == expected.raw_input_contents(static_cast<int>(i)));
  }
  expected.clear_raw_input_contents();
  Require(google::protobuf::util::MessageDifferencer::Equals(read->message, expected) ||
          read->message.ByteSizeLong() == expected.ByteSizeLong());  // NaN is not equal to itself
}

void TryBody(std::string_view body, std::optional<size_t> json_bytes) {
  auto read = ReadInferBody(std::string(body), json_bytes);
  if (!read.ok()) {
    Require(read.status().code() == absl::StatusCode::kInvalidArgument);
    Require(nlohmann::json::accept(ErrorBody(read.status())));
    return;
  }
  const auto answer = Answer(std::move(read->infer));
  if (!answer.has_value()) return;
  const HttpInferBody written = WriteInferBody(*answer, *read);
  Require(written.json_bytes.value_or(0) <= written.bytes.size());
  Require(nlohmann::json::accept(written.bytes.substr(0, written.json_bytes.value_or(written.bytes.size()))));
}

}  // namespace
}  // namespace vitrine

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 2 || max_size < 2 || data[0] % vitrine::kForms != vitrine::kMessage || seed % 16 == 1) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  inference::ModelInferRequest scratch;
  return 1 + vitrine::MutateWire(scratch, data + 1, size - 1, max_size - 1, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % vitrine::kForms) {
    case vitrine::kMessage: {
      auto read = vitrine::ReadInfer(
          std::make_shared<const vitrine::ReceivedBytes>(vitrine::ReceivedBytes{std::string(body), {}}));
      vitrine::CheckRead(read, body);
      if (read.ok()) vitrine::Answer(*std::move(read));
      break;
    }
    case vitrine::kJson:
      vitrine::TryBody(body, std::nullopt);
      break;
    case vitrine::kSplitJson: {
      // The first zero byte ends the JSON, because JSON cannot contain a zero byte. Binary data follow. A length field
      // in place of the zero byte would seldom match after a mutation.
      const size_t end = body.find('\0');
      if (end == std::string_view::npos) {
        // The announced length may exceed the body by 1.
        vitrine::TryBody(body, body.size() + data[0] / vitrine::kForms % 2);
      } else {
        vitrine::TryBody(std::string(body.substr(0, end)).append(body.substr(end + 1)), end);
      }
      break;
    }
  }
  return 0;
}
