// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/goldens.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/geometry.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/tool/publish/forward.h"
#include "models/tool/publish/image.h"

namespace vitrine {
namespace {

constexpr std::pair<const char*, float> kFp32Tolerances[] = {{"cpu", 1e-4F}, {"cuda", 1e-3F}};
constexpr float kNarrowTolerance = 5e-2F;

// Returns an image of edges and gradients. A golden made from this image depends on how images are decoded, resized and
// cropped.
Image Pattern(Size size) {
  Image image{.width = size.width, .height = size.height, .channels = 3, .pixels = {}};
  image.pixels.reserve(size_t(size.width) * size.height * 3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int right = x - size.width / 2, down = y - size.height / 3;
      const bool inside = right * right + down * down < size.height * size.height / 16;
      image.pixels.push_back(static_cast<uint8_t>(255 * x / size.width));
      image.pixels.push_back(static_cast<uint8_t>(inside ? 220 : 255 * y / size.height));
      image.pixels.push_back(static_cast<uint8_t>((x / 8 + y / 8) % 2 == 0 ? 200 : 40));
    }
  }
  return image;
}

void AddTolerance(const std::string& device, const std::string& precision, float tolerance, v1::Manifest& manifest) {
  v1::GoldenTolerance& row = *manifest.add_golden_tolerances();
  row.set_device(device);
  row.set_precision(precision);
  row.set_tolerance(tolerance);
}

}  // namespace

absl::StatusOr<Safetensors> PatternGoldens(const ModelDescription& model, const Forward& forward) {
  Safetensors golden;
  int next = 0;
  for (const Size size : {Size{96, 96}, Size{200, 320}}) {
    ASSIGN_OR_RETURN(const std::string png, EncodePng(Pattern(size)));
    golden.tensors[absl::StrCat("picture.", next++)] = StoredBytes(png);
  }
  RETURN_IF_ERROR(RecordGolden(model, forward, ImageInput, golden));
  return golden;
}

void SetTolerances(v1::Manifest& manifest) {
  for (const auto& [device, tolerance] : kFp32Tolerances) {
    AddTolerance(device, "fp32", tolerance, manifest);
    AddTolerance(device, "bf16", kNarrowTolerance, manifest);
  }
}

void SetNarrowTolerance(const std::string& precision, v1::Manifest& manifest) {
  auto& rows = *manifest.mutable_golden_tolerances();
  const auto is_it = [&](const v1::GoldenTolerance& row) { return row.precision() == precision; };
  rows.erase(std::remove_if(rows.begin(), rows.end(), is_it), rows.end());
  for (const char* const device : {"cpu", "cuda"}) AddTolerance(device, precision, kNarrowTolerance, manifest);
}

absl::Status AddModel(const std::string& name, const WeightedModel& model, Draft& draft) {
  // Uses the portable path, so that the serving path is compared with another implementation.
  ASSIGN_OR_RETURN(const Forward portable, EngineForward(model, cpu::CpuPath::kPortable));
  ASSIGN_OR_RETURN(draft.golden, PatternGoldens(model.description, portable));
  draft.manifest.set_goldens_by("portable");
  *draft.manifest.mutable_config() = model.description.config();
  draft.manifest.set_parameters(model.description.program().parameters());
  SetTolerances(draft.manifest);

  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(const Forward serving, EngineForward(model, path));
  StoredVersion version;
  version.manifest = draft.manifest;
  version.manifest.set_model(name);
  version.golden = draft.golden;
  const absl::Status agrees = CheckGolden(version, model.description, serving, ImageInput, "cpu", "fp32");
  if (agrees.ok()) return agrees;
  return absl::Status(agrees.code(),
                      absl::StrCat("nothing was published, since no server could load it: ", agrees.message()));
}

}  // namespace vitrine
