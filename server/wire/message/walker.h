// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_MESSAGE_WALKER_H_
#define VITRINE_SERVER_WIRE_MESSAGE_WALKER_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine {

// How the value of a field is written in protobuf's wire format.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kEndGroup = 4, kFixed32 = 5 };

// One field of a message, where it lies.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;  // never kEndGroup
  std::string_view whole = {};        // with its tag
  std::string_view value = {};        // of kBytes alone: what follows the length

  bool IsBytes(int field) const { return type == WireType::kBytes && number == static_cast<uint32_t>(field); }
};

// Walks over the fields of a message in protobuf's wire format, of which the bytes stay where they are. What it takes
// for a field, protobuf's own parser takes for one as well, and what it refuses, that refuses too: tags and lengths
// that take more bytes than they need are read, numbers of ten bytes at most; groups are fields as a whole. It does not
// look into the values. Thread-compatible.
class MessageWalker {
 public:
  // Groups, and messages that are walked over one in another, as deep as protobuf reads them.
  static constexpr int kMaxDepth = 100;

  // `depth`: how deep groups may be nested; for a message within another one less than for that.
  explicit MessageWalker(std::string_view message, int depth = kMaxDepth)
      : at_(message.data()), end_(message.data() + message.size()), depth_(depth) {}

  // The next field; nothing at the end, or where no field begins.
  std::optional<WireField> Next();
  // Whether Next ended before the end of the message.
  bool is_malformed() const { return is_malformed_; }

 private:
  // Each moves at_ behind what it reads; false where that is not there.
  bool ReadTag(uint32_t& tag);
  bool ReadLength(std::string_view& value);
  bool Skip(size_t bytes);
  bool SkipVarint();
  bool SkipGroup(uint32_t start);
  // The value of a field, whose tag has been read, but for a group.
  bool SkipValue(uint32_t tag, std::string_view& value);

  const char* at_;
  const char* const end_;
  const int depth_;
  bool is_malformed_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_MESSAGE_WALKER_H_
