#include "imaging/decode.h"

#include <utility>

#include "base/status_macros.h"
#include "imaging/header.h"
#include "imaging/jpeg.h"
#include "imaging/orientation.h"
#include "imaging/png.h"

namespace vitrine {

absl::StatusOr<Image> Decode(std::string_view bytes, const ImageLimits& limits) {
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(bytes, limits));
  ASSIGN_OR_RETURN(Image stored,
                   header.format == ImageFormat::kJpeg ? DecodeJpeg(bytes, header, limits) : DecodePng(bytes, header));
  return Orient(std::move(stored), header.orientation);
}

}  // namespace vitrine
