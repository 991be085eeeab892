// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/image.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/imaging/decode_input.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {

absl::StatusOr<FloatArray> ImageInput(std::string_view image, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(PlannedInput planned, PlanAndDecodeInput(image, preprocessing));
  const Size input = planned.geometry.input;
  return FloatArray{.shape = {preprocessing.channels(), input.height, input.width},
                    .values = std::move(planned.values)};
}

absl::StatusOr<FloatArray> InputOf(const Dataset& data, int64_t index, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(const std::string image, data.encoded(index));
  absl::StatusOr<FloatArray> input = ImageInput(image, preprocessing);
  if (input.ok()) return input;
  return absl::Status(input.status().code(),
                      absl::StrCat(EscapedText(data.name(index)), ": ", input.status().message()));
}

std::string DataInWords(const std::string& data, const std::string& split, int64_t images) {
  const size_t colon = data.find(':');
  const std::filesystem::path path = std::filesystem::path(data.substr(colon + 1)).lexically_normal();
  const std::filesystem::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  const std::string words = name.empty() ? data.substr(0, colon) : name.string();
  return absl::StrCat(EscapedText(words), " ", split, ", ", images, " images");
}

}  // namespace vitrine
