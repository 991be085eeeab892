// SPDX-License-Identifier: Apache-2.0
// Replaces common/drawing/overlay.cc and colour_range.cc in libvitrine_engine.so. A request needs OpenCV for overlays
// only, and OpenCV with the libraries that it needs would take most of the wheel. vitrine_engine_run rejects overlays,
// so that none of these functions is called.
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
