// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/plan_attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/attention_request.h"
#include "models/features.h"
#include "report/overlay.h"
#include "server/serve/execution/attention_encoding.h"

namespace vitrine {
namespace {

constexpr int kMaxAttentionRequests = 16;
constexpr int kMaxFeatureRequests = 3;
// Each overlay is a picture to draw and compress; one of the largest takes about 0.2 s of an executor.
constexpr int64_t kMaxOverlays = 8;

// Of one overlay on a picture of this size, but for the legend below it.
int64_t OverlayPixels(Size picture) {
  const OverlayLook look;
  const double longer = std::max({picture.height, picture.width, 1});
  const double scale = std::clamp<double>(longer, look.min_side, look.max_side) / longer;
  return static_cast<int64_t>(std::ceil(picture.height * scale) * std::ceil(picture.width * scale));
}

// Adds to `bytes` what the values of the attention take.
absl::Status PlanAttention(InferenceRequest& plan, int64_t& bytes) {
  const v1::ClassifyRequest& request = plan.request;
  if (request.attention_size() > kMaxAttentionRequests) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", request.attention_size(),
                                                   " attention entries; at most ", kMaxAttentionRequests,
                                                   " are allowed"));
  }
  int64_t overlays = 0;
  for (const v1::AttentionRequest& wish : request.attention()) {
    ASSIGN_OR_RETURN(v1::AttentionRequest resolved, ResolveAttention(wish, plan.model->attention, plan.grid));
    const AttentionSize size = SizeOf(resolved, plan.model->attention, plan.grid);
    if (resolved.encoding() != v1::OVERLAY_PNG) {
      bytes += size.maps * size.values_per_map * BytesPerValue(resolved.encoding());
    } else if (request.tensor().normalized()) {
      return absl::InvalidArgumentError(
          "an overlay was asked for, but a normalized tensor has no picture to draw on; ask for the values");
    } else {
      overlays += size.maps;
    }
    plan.attention.push_back(std::move(resolved));
  }
  plan.overlay_pixels = overlays * OverlayPixels(plan.geometry.original);
  if (overlays <= kMaxOverlays) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the request asks for ", overlays, " overlays; at most ", kMaxOverlays,
                                                 " are drawn for one request; ask for fewer layers or ",
                                                 "heads, or for values"));
}

// Adds to `bytes` what the features take.
absl::Status PlanFeatures(InferenceRequest& plan, int64_t& bytes) {
  const v1::ClassifyRequest& request = plan.request;
  if (request.features_size() > kMaxFeatureRequests) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", request.features_size(),
                                                   " feature entries; at most ", kMaxFeatureRequests, " are allowed"));
  }
  const FeatureAbility& ability = plan.model->features;
  for (const v1::FeatureRequest& wish : request.features()) {
    ASSIGN_OR_RETURN(v1::FeatureRequest resolved, ResolveFeature(wish, ability));
    bytes += ValuesOf(resolved, ability, plan.grid) * (resolved.encoding() == v1::FEATURE_FLOAT16 ? 2 : 4);
    plan.features.push_back(std::move(resolved));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PlanAttentionAndFeatures(InferenceRequest& plan) {
  int64_t bytes = 0;
  RETURN_IF_ERROR(PlanAttention(plan, bytes));
  RETURN_IF_ERROR(PlanFeatures(plan, bytes));
  const int64_t allowed = AttentionBytesAllowed(plan.request);
  const bool draws = std::any_of(plan.attention.begin(), plan.attention.end(),
                                 [](const auto& wish) { return wish.encoding() == v1::OVERLAY_PNG; });
  plan.answer_bytes = draws ? allowed : bytes;
  if (bytes <= allowed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the attention maps and features take ", bytes, " bytes, but max_attention_bytes is ", allowed,
      "; allow more (up to ", kMaxAttentionBytes, "), or ask for fewer layers or heads, for UINT8 or FLOAT16"));
}

}  // namespace vitrine
