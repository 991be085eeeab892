// SPDX-License-Identifier: Apache-2.0
// Parses a native request and plans it for a model of each kind. The request must be rejected with a status, or give a
// plan and an input that meet the executors' requirements.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/attention_request.h"
#include "models/model_description.h"
#include "server/serve/execution/attention_encoding.h"
#include "server/serve/execution/image_input.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/message/read_message.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

// Maximum number of pixels of an image that this test decodes. For a larger image, the test checks only the parsed
// message and the result of PlanRequest, which reads the image's header but no pixels. So a run is quick.
constexpr int64_t kMostPixels = 1 << 12;

const std::vector<ModelHandle>& Models() {
  static const auto& models = *new std::vector<ModelHandle>{
      ServedEit(),
      ServedKv(),
      Served("xcit",
             "classes: 3 preprocessing { channels: 3 mean: [0, 0, 0] std: [1, 1, 1] interpolation: BILINEAR "
             "fixed { height: 32 width: 48 fit: STRETCH } } "
             "xcit { patch: 16 width: 32 depth: 2 class_depth: 2 heads: 4 mlp_width: 48 }"),
      Served("xvit",
             "classes: 3 preprocessing { channels: 3 mean: [0, 0, 0] std: [1, 1, 1] interpolation: BICUBIC "
             "native { cell: 16 min_tokens: 1 max_tokens: 9 } } "
             "xvit { patch: 16 width: 32 depth: 2 class_depth: 1 heads: 4 attention_width: 16 mlp_width: 48 }"),
  };
  return models;
}

// Requires that `read` equals protobuf's result, and that the image is a view of the message.
void CheckRead(const absl::StatusOr<ReceivedClassify>& read, std::string_view bytes) {
  v1::ClassifyRequest expected;
  const bool parses = expected.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!read.ok()) {
    Require(read.status().code() == absl::StatusCode::kInvalidArgument);
    const bool has_much = read.status().message().find("besides its images") != absl::string_view::npos;
    return Require(!parses || has_much);
  }
  Require(parses && read->message.input_case() == expected.input_case());
  Require(read->input == (expected.has_image() ? expected.image() : expected.tensor().data()));
  if (!read->input.empty()) {
    const std::string& owned = read->owner->bytes;
    Require(read->input.data() >= owned.data() && read->input.end() <= owned.data() + owned.size());
  }
  if (expected.has_image()) expected.set_image("");
  if (expected.has_tensor()) expected.mutable_tensor()->clear_data();
  Require(read->message.SerializeAsString() == expected.SerializeAsString());
}

void CheckAttention(const InferenceRequest& plan, const v1::AttentionRequest& requested) {
  const AttentionAbility::Offer* offer = plan.model->attention.Find(requested.kind());
  Require(offer != nullptr && requested.encoding() != v1::ATTENTION_ENCODING_UNSPECIFIED);
  for (const int layer : requested.layers()) Require(layer >= 0 && layer < offer->layers);
  for (const int head : requested.heads()) Require(head >= 0 && head < offer->heads);
  const AttentionSize size = SizeOf(requested, plan.model->attention, plan.grid);
  Require(size.maps >= 1 && size.values_per_map >= 1);
}

void CheckPlan(const InferenceRequest& plan) {
  const v1::ClassifyRequest& request = plan.request;
  const ModelDescription& model = *plan.model->description;
  Require(plan.top_k >= 0 && plan.top_k <= model.config().classes());
  Require((plan.top_k == 0) == (request.omit_predictions() || model.config().classes() == 0));
  const auto grid = model.GridFor(plan.geometry.input.height, plan.geometry.input.width);
  Require(grid.ok() && *grid == plan.grid && plan.tokens == plan.grid.cells() + model.prefix_tokens());
  Require(plan.InputPixels() >= 1 && plan.InputBytes() >= 1);
  Require(plan.attention.size() == static_cast<size_t>(request.attention_size()));
  Require(plan.features.size() == static_cast<size_t>(request.features_size()));
  for (const v1::AttentionRequest& requested : plan.attention) CheckAttention(plan, requested);
  Require(plan.answer_bytes >= 0 && plan.answer_bytes <= AttentionBytesAllowed(request));
  Require(plan.overlay_pixels >= 0);
}

void CheckInput(const InferenceRequest& plan) {
  const v1::Preprocessing& preprocessing = plan.model->manifest.config().preprocessing();
  const auto input = MakeImageInput(plan.request, plan.input, preprocessing, plan.geometry);
  if (!input.ok()) return Require(input.status().code() == absl::StatusCode::kInvalidArgument);
  const Size size = plan.geometry.input;
  const engine::ImagePlanes& pixels = input->pixels;
  Require(pixels.channels == preprocessing.channels() && pixels.height == size.height && pixels.width == size.width);
  const size_t count = size_t{1} * pixels.channels * pixels.height * pixels.width;
  Require(std::all_of(pixels.data, pixels.data + count, [](float value) { return std::isfinite(value); }));
}

}  // namespace
}  // namespace vitrine

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  vitrine::v1::ClassifyRequest scratch;
  return vitrine::MutateWire(scratch, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Require;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto read = vitrine::ReadClassify(
      std::make_shared<const vitrine::ReceivedBytes>(vitrine::ReceivedBytes{std::string(bytes), {}}));
  vitrine::CheckRead(read, bytes);
  if (!read.ok()) return 0;
  const std::string& model = read->message.model();
  const size_t chosen = model.empty() ? 0 : static_cast<uint8_t>(model[0]);
  const auto plan = vitrine::PlanRequest(*std::move(read), vitrine::Models()[chosen % vitrine::Models().size()]);
  if (!plan.ok()) {
    Require(!plan.status().message().empty());
    Require(plan.status().code() == absl::StatusCode::kInvalidArgument ||
            plan.status().code() == absl::StatusCode::kResourceExhausted);
    return 0;
  }
  vitrine::CheckPlan(*plan);
  if (plan->InputPixels() <= vitrine::kMostPixels) vitrine::CheckInput(*plan);
  return 0;
}
