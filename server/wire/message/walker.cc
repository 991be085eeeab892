// SPDX-License-Identifier: Apache-2.0
#include "server/wire/message/walker.h"

#include <array>
#include <cstddef>

namespace vitrine {
namespace {

constexpr int kTagBytes = 5, kLengthBytes = 5, kVarintBytes = 10;
constexpr int kTypeBits = 3;

WireType TypeOf(uint32_t tag) {
  return static_cast<WireType>(tag & ((1U << kTypeBits) - 1));
}

}  // namespace

bool MessageWalker::ReadTag(uint32_t& tag) {
  tag = 0;
  for (int i = 0; i < kTagBytes && at_ != end_; ++i) {
    const auto byte = static_cast<uint8_t>(*at_++);
    tag |= uint32_t{byte & 0x7FU} << 7 * i;  // drops bits from index 32 on, as protobuf does
    if (byte < 0x80) return tag >> kTypeBits != 0;
  }
  return false;
}

bool MessageWalker::ReadLength(std::string_view& value) {
  uint64_t length = 0;
  for (int i = 0; i < kLengthBytes && at_ != end_; ++i) {
    const auto byte = static_cast<uint8_t>(*at_++);
    length |= uint64_t{byte & 0x7FU} << 7 * i;
    if (byte >= 0x80) continue;
    if (length > static_cast<uint64_t>(end_ - at_)) return false;
    value = {at_, static_cast<size_t>(length)};
    at_ += length;
    return true;
  }
  return false;
}

bool MessageWalker::Skip(size_t bytes) {
  if (static_cast<size_t>(end_ - at_) < bytes) return false;
  at_ += bytes;
  return true;
}

bool MessageWalker::SkipVarint() {
  for (int i = 0; i < kVarintBytes && at_ != end_; ++i) {
    if (static_cast<uint8_t>(*at_++) < 0x80) return true;
  }
  return false;
}

bool MessageWalker::SkipValue(uint32_t tag, std::string_view& value) {
  switch (TypeOf(tag)) {
    case WireType::kVarint:
      return SkipVarint();
    case WireType::kFixed64:
      return Skip(sizeof(uint64_t));
    case WireType::kFixed32:
      return Skip(sizeof(uint32_t));
    case WireType::kBytes:
      return ReadLength(value);
    default:
      return false;
  }
}

bool MessageWalker::SkipGroup(uint32_t start) {
  std::array<uint32_t, kMaxDepth> open;  // field tags of the groups that are open
  int depth = 0;
  if (depth == depth_) return false;
  open[static_cast<size_t>(depth++)] = start;
  while (depth > 0) {
    uint32_t tag = 0;
    if (!ReadTag(tag)) return false;
    std::string_view value;
    if (TypeOf(tag) == WireType::kGroup) {
      if (depth == depth_) return false;
      open[static_cast<size_t>(depth++)] = tag;
    } else if (TypeOf(tag) == WireType::kEndGroup) {
      if (open[static_cast<size_t>(--depth)] >> kTypeBits != tag >> kTypeBits) return false;
    } else if (!SkipValue(tag, value)) {
      return false;
    }
  }
  return true;
}

std::optional<WireField> MessageWalker::Next() {
  if (at_ == end_ || is_malformed_) return std::nullopt;
  const char* const begin = at_;
  WireField field;
  uint32_t tag = 0;
  const bool is_read = ReadTag(tag) && (TypeOf(tag) == WireType::kGroup ? SkipGroup(tag) : SkipValue(tag, field.value));
  if (!is_read) {
    is_malformed_ = true;
    return std::nullopt;
  }
  field.number = tag >> kTypeBits;
  field.type = TypeOf(tag);
  field.whole = {begin, static_cast<size_t>(at_ - begin)};
  return field;
}

}  // namespace vitrine
