// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_MESSAGE_WALKER_H_
#define VITRINE_SERVER_WIRE_MESSAGE_WALKER_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine {

// Encoding of a field's value in protobuf's wire format.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kEndGroup = 4, kFixed32 = 5 };

// One field of a message, as views of the message's bytes.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;  // any value except kEndGroup
  std::string_view whole = {};        // bytes of the tag and the value
  std::string_view value = {};        // bytes after the length prefix; only for kBytes

  bool IsBytes(int field) const { return type == WireType::kBytes && number == static_cast<uint32_t>(field); }
};

// Iterates over the fields of a message in protobuf's wire format without copying. Accepts and rejects the same fields
// as protobuf's own parser: overlong tags and lengths are accepted, varints have at most ten bytes, and a group is one
// field. Does not parse values. Thread-compatible.
class MessageWalker {
 public:
  // Maximum nesting of groups and messages, as in protobuf.
  static constexpr int kMaxDepth = 100;

  // `depth`: maximum nesting of groups. For a nested message, pass a lower value.
  explicit MessageWalker(std::string_view message, int depth = kMaxDepth)
      : at_(message.data()), end_(message.data() + message.size()), depth_(depth) {}

  // Returns the next field; nullopt at the end, or before an invalid field.
  std::optional<WireField> Next();
  // Returns true if Next stopped before the end of the message.
  bool is_malformed() const { return is_malformed_; }

 private:
  // Each function moves at_ past the bytes that it reads, and returns false if the bytes are invalid.
  bool ReadTag(uint32_t& tag);
  bool ReadLength(std::string_view& value);
  bool Skip(size_t bytes);
  bool SkipVarint();
  bool SkipGroup(uint32_t start);
  // Reads the value of a field whose tag was read. Must not be called for groups.
  bool SkipValue(uint32_t tag, std::string_view& value);

  const char* at_;
  const char* const end_;
  const int depth_;
  bool is_malformed_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_MESSAGE_WALKER_H_
