// SPDX-License-Identifier: Apache-2.0
// A native request from the bytes of the wire to its plan and its input, against a model of each kind: refused with a
// status, or planned within what the executors rely on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/request_size.h"
#include "models/attention_request.h"
#include "models/model_description.h"
#include "server/serve/execution/attention_encoding.h"
#include "server/serve/execution/picture_input.h"
#include "server/serve/request/plan_request.h"
#include "server/wire/rpc/outline.h"
#include "server/wire/rpc/wire.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"
#include "tests/server/served.h"

namespace vitrine {
namespace {

// As far as the server looks, and so little that a picture made by the fuzzer is cut too.
constexpr size_t kLooks[] = {kFirstLookBytes, 40};

// Pictures above this are planned and not decoded, so that a run is quick.
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

// All but the bytes of the picture or tensor are there, and these are told.
void CheckOutline(const std::optional<Outline<v1::ClassifyRequest>>& outline, const v1::ClassifyRequest& request,
                  size_t look) {
  if (!outline.has_value()) return;
  v1::ClassifyRequest expected = request;
  size_t sent = 0;
  if (request.has_image()) {
    sent = request.image().size();
    expected.set_image(request.image().substr(0, look));
  } else if (request.has_tensor()) {
    sent = request.tensor().data().size();
    expected.mutable_tensor()->clear_data();
  }
  Require(outline->request.SerializeAsString() == expected.SerializeAsString());
  Require(outline->is_picture == request.has_image());
  Require(outline->left_out == static_cast<int64_t>(sent - expected.image().size()));
}

void CheckAttention(const InferenceRequest& plan, const v1::AttentionRequest& wish) {
  const AttentionAbility::Offer* offer = plan.model->attention.Find(wish.kind());
  Require(offer != nullptr && wish.encoding() != v1::ATTENTION_ENCODING_UNSPECIFIED);
  for (const int layer : wish.layers()) Require(layer >= 0 && layer < offer->layers);
  for (const int head : wish.heads()) Require(head >= 0 && head < offer->heads);
  const AttentionSize size = SizeOf(wish, plan.model->attention, plan.grid);
  Require(size.maps >= 1 && size.values_per_map >= 1);
}

void CheckPlan(const InferenceRequest& plan) {
  const v1::ClassifyRequest& request = plan.request;
  const ModelDescription& model = *plan.model->description;
  Require(plan.top_k >= 0 && plan.top_k <= model.config().classes());
  Require((plan.top_k == 0) == request.omit_predictions());
  const auto grid = model.GridFor(plan.geometry.input.height, plan.geometry.input.width);
  Require(grid.ok() && *grid == plan.grid && plan.tokens == plan.grid.cells() + model.prefix_tokens());
  Require(plan.InputPixels() >= 1 && plan.InputBytes() >= 1);
  Require(plan.attention.size() == static_cast<size_t>(request.attention_size()));
  Require(plan.features.size() == static_cast<size_t>(request.features_size()));
  for (const v1::AttentionRequest& wish : plan.attention) CheckAttention(plan, wish);
  Require(plan.answer_bytes >= 0 && plan.answer_bytes <= AttentionBytesAllowed(request));
  Require(plan.overlay_pixels >= 0);
}

void CheckInput(const InferenceRequest& plan) {
  const v1::Preprocessing& preprocessing = plan.model->manifest.config().preprocessing();
  const auto input = MakePictureInput(plan.request, preprocessing, plan.geometry);
  if (!input.ok()) return Require(input.status().code() == absl::StatusCode::kInvalidArgument);
  const Size size = plan.geometry.input;
  const engine::Picture& pixels = input->pixels;
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
  const grpc::Slice slice(data, size);
  grpc::ByteBuffer bytes(&slice, 1);
  const absl::Status unfolded = vitrine::Unfold(bytes, vitrine::kMaxRequestBytes);
  std::optional<vitrine::Outline<vitrine::v1::ClassifyRequest>> outlines[2];
  for (int i = 0; i < 2; ++i) {
    if (unfolded.ok()) outlines[i] = vitrine::OutlineOf(bytes, vitrine::kLooks[i]);
  }
  auto request = unfolded.ok() ? vitrine::ParseRequest(bytes) : absl::StatusOr<vitrine::v1::ClassifyRequest>(unfolded);
  if (!request.ok()) {
    Require(request.status().code() == absl::StatusCode::kInvalidArgument ||
            request.status().code() == absl::StatusCode::kResourceExhausted);
    return 0;
  }
  for (int i = 0; i < 2; ++i) vitrine::CheckOutline(outlines[i], *request, vitrine::kLooks[i]);
  const size_t chosen = request->model().empty() ? 0 : static_cast<uint8_t>(request->model()[0]);
  const auto plan = vitrine::PlanRequest(*std::move(request), vitrine::Models()[chosen % vitrine::Models().size()]);
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
