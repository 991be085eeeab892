#include "client/attention_files.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/names.h"
#include "imaging/decode.h"
#include "report/overlay.h"

namespace vitrine {
namespace {

float FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return bits >> 15 == 0 ? value : -value;
}

uint8_t Byte(const std::string& bytes, size_t i) {
  return static_cast<uint8_t>(bytes[i]);
}

uint32_t LittleEndian(const std::string& bytes, size_t first, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint32_t>(Byte(bytes, first + i)) << (8 * i);
  return value;
}

size_t BytesPerValue(v1::AttentionEncoding encoding) {
  switch (encoding) {
    case v1::FLOAT16:
      return 2;
    case v1::UINT8:
      return 1;
    case v1::FLOAT32:
      return 4;
    default:
      return 0;
  }
}

absl::Status WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

// Decodes the picture when the first map asks for it.
class LazyPicture {
 public:
  explicit LazyPicture(std::string_view encoded) : encoded_(encoded) {}
  absl::StatusOr<const Image*> Get() {
    if (!image_.has_value()) {
      ASSIGN_OR_RETURN(image_, Decode(encoded_));
    }
    return &*image_;
  }

 private:
  std::string_view encoded_;
  std::optional<Image> image_;
};

absl::StatusOr<std::string> Draw(const v1::AttentionMap& map, LazyPicture& picture) {
  if (map.encoding() == v1::OVERLAY_PNG) return map.values();
  ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
  if (!map.has_covers()) return DrawMatrix(map.rows(), map.columns(), values);
  ASSIGN_OR_RETURN(const Image* image, picture.Get());
  return DrawOverlay(*image, {.rows = map.rows(), .columns = map.columns(), .values = values, .covers = map.covers()});
}

}  // namespace

absl::StatusOr<std::vector<float>> AttentionValues(const v1::AttentionMap& map) {
  const size_t size = BytesPerValue(map.encoding());
  if (size == 0) return absl::InvalidArgumentError("the attention map holds no numbers");
  const size_t count = map.rows() < 1 || map.columns() < 1 ? 0 : static_cast<size_t>(map.rows()) * map.columns();
  if (count == 0 || map.values().size() != count * size) {
    return absl::InvalidArgumentError(absl::StrCat("an attention map of ", map.rows(), "x", map.columns(),
                                                   " values cannot have ", map.values().size(), " bytes"));
  }
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = LittleEndian(map.values(), i * size, size);
    switch (size) {
      case 1:
        values[i] = map.offset() + map.scale() * static_cast<float>(bits);
        break;
      case 2:
        values[i] = FromHalf(static_cast<uint16_t>(bits));
        break;
      default:
        values[i] = std::bit_cast<float>(bits);
    }
  }
  return values;
}

std::string AttentionFileName(const std::string& stem, const v1::AttentionMap& map) {
  const std::string layer = map.layer() < 0 ? "" : absl::StrCat(".layer", map.layer());
  const std::string head = map.head() < 0 ? "" : absl::StrCat(".head", map.head());
  return absl::StrCat(stem, ".", AttentionKindName(map.kind()), layer, head, ".png");
}

absl::StatusOr<std::vector<std::string>> WriteAttention(const std::string& folder, const std::string& stem,
                                                        std::string_view encoded, const v1::ClassifyResponse& answer) {
  LazyPicture picture(encoded);
  std::vector<std::string> paths;
  for (const v1::AttentionMap& map : answer.attention()) {
    ASSIGN_OR_RETURN(const std::string png, Draw(map, picture));
    paths.push_back((std::filesystem::path(folder) / AttentionFileName(stem, map)).string());
    RETURN_IF_ERROR(WriteFile(paths.back(), png));
  }
  return paths;
}

}  // namespace vitrine
