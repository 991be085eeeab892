// SPDX-License-Identifier: Apache-2.0
// Replaces common/drawing/overlay.cc and colour_range.cc in libvitrine_engine.so. Only overlays need OpenCV, and OpenCV
// with its dependencies would take most of the wheel. vitrine_engine_run rejects overlays, so these functions are never
// called.
#include "common/drawing/overlay.h"

namespace vitrine {

ColourRange AttentionRange(std::span<const float>, int64_t, bool) {
  return {};
}

ColourRange Both(const ColourRange& a, const ColourRange&) {
  return a;
}

absl::StatusOr<Image> ShownUnderMaps(const Image&, const OverlayLook&) {
  return absl::UnimplementedError("the engine draws no overlays");
}

absl::StatusOr<Image> ComposeOnShown(const Image&, Size, const SpatialMap&, const OverlayLook&) {
  return absl::UnimplementedError("the engine draws no overlays");
}

}  // namespace vitrine
