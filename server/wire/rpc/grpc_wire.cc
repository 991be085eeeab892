// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/grpc_wire.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/gzip.h"

namespace vitrine {
namespace {

constexpr absl::string_view kGrpcType = "application/grpc";

absl::string_view Absl(std::string_view text) {
  return {text.data(), text.size()};
}

// Writes the prefix of a message to the first bytes of `frame`. The message must already follow these bytes.
void SetPrefix(std::string& frame, bool is_compressed) {
  const auto length = static_cast<uint32_t>(frame.size() - kGrpcPrefixBytes);
  frame[0] = is_compressed ? 1 : 0;
  for (int i = 0; i < 4; ++i) frame[1 + i] = static_cast<char>(length >> (8 * (3 - i)));
}

}  // namespace

bool IsGrpcType(std::string_view content_type) {
  return absl::StartsWithIgnoreCase(Absl(content_type), kGrpcType);
}

bool IsProtobufType(std::string_view content_type) {
  if (!IsGrpcType(content_type)) return false;
  const absl::string_view type = Absl(content_type).substr(0, content_type.find(';'));
  const absl::string_view rest = absl::StripTrailingAsciiWhitespace(type.substr(kGrpcType.size()));
  return rest.empty() || absl::EqualsIgnoreCase(rest, "+proto");
}

std::string PercentEncoded(std::string_view message) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(message.size());
  for (const char each : message) {
    const auto byte = static_cast<unsigned char>(each);
    if (encoded.size() + 3 > kMaxGrpcMessageBytes) break;
    if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
      encoded.push_back(each);
    } else {
      encoded.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return encoded;
}

std::optional<absl::Duration> ParseGrpcTimeout(std::string_view value) {
  const size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  if (digits == 0 || digits + 1 != value.size()) return std::nullopt;
  absl::Duration unit;
  switch (value.back()) {
    case 'H':
      unit = absl::Hours(1);
      break;
    case 'M':
      unit = absl::Minutes(1);
      break;
    case 'S':
      unit = absl::Seconds(1);
      break;
    case 'm':
      unit = absl::Milliseconds(1);
      break;
    case 'u':
      unit = absl::Microseconds(1);
      break;
    case 'n':
      unit = absl::Nanoseconds(1);
      break;
    default:
      return std::nullopt;
  }
  if (digits > 8) return absl::InfiniteDuration();
  int64_t count = 0;
  for (const char digit : value.substr(0, digits)) count = 10 * count + (digit - '0');
  return count * unit;
}

std::vector<std::string> MetadataOf(const HttpHead& head, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : head.headers) {
    if (absl::EqualsIgnoreCase(key, Absl(name))) values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::vector<std::string>> BinaryMetadataOf(const HttpHead& head, std::string_view name) {
  std::vector<std::string> values;
  for (const std::string& joined : MetadataOf(head, name)) {
    for (const absl::string_view each : absl::StrSplit(joined, ',')) {
      // Base64Unescape accepts padded and unpadded values.
      if (absl::Base64Unescape(absl::StripAsciiWhitespace(each), &values.emplace_back())) continue;
      return absl::InvalidArgumentError(absl::StrCat("a value of ", Absl(name), " is not base64"));
    }
  }
  return values;
}

std::string BinaryValue(std::string_view bytes) {
  std::string value = absl::Base64Escape(Absl(bytes));
  value.erase(value.find_last_not_of('=') + 1);
  return value;
}

bool HasEncoding(std::string_view list, std::string_view encoding) {
  for (const absl::string_view each : absl::StrSplit(Absl(list), ',')) {
    if (absl::StripAsciiWhitespace(each) == Absl(encoding)) return true;
  }
  return false;
}

std::string GrpcFrame(const google::protobuf::MessageLite& message) {
  std::string frame(kGrpcPrefixBytes, '\0');
  if (!message.AppendToString(&frame)) return {};
  SetPrefix(frame, false);
  return frame;
}

std::string GrpcFrame(const EncodedMessage& message) {
  std::string frame(kGrpcPrefixBytes, '\0');
  frame += message.bytes;
  SetPrefix(frame, false);
  return frame;
}

std::string GzipFrame(std::string frame) {
  std::string packed = std::string(kGrpcPrefixBytes, '\0') + Gzip(Absl(frame).substr(kGrpcPrefixBytes));
  if (packed.size() >= frame.size()) return frame;
  SetPrefix(packed, true);
  return packed;
}

}  // namespace vitrine
