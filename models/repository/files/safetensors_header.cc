// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

constexpr char kMetadataKey[] = "__metadata__";

// Handles the events of the JSON parser. To stop the parser, a method sets error_ and returns false.
class HeaderReader {
 public:
  absl::Status error() const { return error_; }
  SafetensorsHeader Take() { return std::move(header_); }

  bool start_object(size_t) {
    switch (state_) {
      case State::kStart:
        return Enter(State::kRoot);
      case State::kTensorStart:
        return Enter(State::kTensor);
      case State::kMetadataStart:
        return Enter(State::kMetadata);
      default:
        return Unexpected("an object");
    }
  }

  bool key(std::string& key) {
    switch (state_) {
      case State::kRoot:
        return RootKey(key);
      case State::kTensor:
        return TensorKey(key);
      default:
        metadata_key_ = key;
        if (header_.metadata.contains(key)) return Fail(absl::StrCat("metadata key ", Quoted(key), " appears twice"));
        return Enter(State::kMetadataValue);
    }
  }

  bool end_object() {
    switch (state_) {
      case State::kRoot:
        return Enter(State::kEnd);
      case State::kMetadata:
        return Enter(State::kRoot);
      default:
        return EndTensor();
    }
  }

  bool start_array(size_t) {
    if (state_ == State::kShapeStart) return Enter(State::kShape);
    if (state_ == State::kOffsetsStart) return Enter(State::kOffsets);
    return Unexpected("an array");
  }

  bool end_array() {
    if (state_ == State::kOffsets) {
      if (offsets_.size() != 2) return Fail(absl::StrCat(Where(), "data_offsets must hold two numbers"));
      tensor_.begin = offsets_[0];
      tensor_.end = offsets_[1];
    }
    return Enter(State::kTensor);
  }

  bool number_unsigned(uint64_t value) {
    if (state_ == State::kShape) {
      if (tensor_.shape.size() == kMaxSafetensorsRank) {
        return Fail(absl::StrCat(Where(), "rank is above ", kMaxSafetensorsRank));
      }
      tensor_.shape.push_back(value);
      return true;
    }
    if (state_ == State::kOffsets) {
      if (offsets_.size() == 2) return Fail(absl::StrCat(Where(), "data_offsets must hold two numbers"));
      offsets_.push_back(value);
      return true;
    }
    return Unexpected("a number");
  }

  bool string(std::string& value) {
    if (state_ == State::kDtype) {
      tensor_.dtype = std::move(value);
      return Enter(State::kTensor);
    }
    if (state_ == State::kMetadataValue) {
      header_.metadata[metadata_key_] = std::move(value);
      return Enter(State::kMetadata);
    }
    return Unexpected("a string");
  }

  bool null() { return Unexpected("null"); }
  bool boolean(bool) { return Unexpected("a boolean"); }
  bool number_integer(int64_t) { return Unexpected("a negative number"); }
  bool number_float(double, const std::string&) { return Unexpected("a number that is no 64-bit integer"); }
  bool binary(std::vector<uint8_t>&) { return Unexpected("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    return Fail(absl::StrCat("the header is not valid JSON at byte ", position));
  }

 private:
  enum class State {
    kStart,
    kRoot,
    kTensorStart,
    kTensor,
    kDtype,
    kShapeStart,
    kShape,
    kOffsetsStart,
    kOffsets,
    kMetadataStart,
    kMetadata,
    kMetadataValue,
    kEnd,
  };

  bool Enter(State state) {
    state_ = state;
    return true;
  }

  bool Fail(const std::string& message) {
    error_ = absl::InvalidArgumentError(message);
    return false;
  }

  bool Unexpected(const std::string& what) {
    if (state_ == State::kStart) return Fail(absl::StrCat("the header is ", what, ", not an object"));
    return Fail(absl::StrCat(Where(), "unexpected ", what));
  }

  std::string Where() const {
    switch (state_) {
      case State::kMetadataStart:
      case State::kMetadata:
      case State::kMetadataValue:
        return absl::StrCat(kMetadataKey, ": ");
      default:
        return absl::StrCat("tensor ", Quoted(tensor_.name), ": ");
    }
  }

  bool RootKey(const std::string& key) {
    if (!names_.insert(key).second) return Fail(absl::StrCat("tensor ", Quoted(key), " appears twice"));
    if (key == kMetadataKey) return Enter(State::kMetadataStart);
    tensor_ = TensorEntry();
    tensor_.name = key;
    offsets_.clear();
    fields_.clear();
    return Enter(State::kTensorStart);
  }

  bool TensorKey(const std::string& key) {
    if (!fields_.insert(key).second) return Fail(absl::StrCat(Where(), "field ", Quoted(key), " appears twice"));
    if (key == "dtype") return Enter(State::kDtype);
    if (key == "shape") return Enter(State::kShapeStart);
    if (key == "data_offsets") return Enter(State::kOffsetsStart);
    return Fail(absl::StrCat(Where(), "unknown field ", Quoted(key)));
  }

  bool EndTensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!fields_.contains(field)) return Fail(absl::StrCat(Where(), "field \"", field, "\" is missing"));
    }
    header_.tensors.push_back(std::move(tensor_));
    return Enter(State::kRoot);
  }

  State state_ = State::kStart;
  SafetensorsHeader header_;
  std::set<std::string> names_;  // keys of the root that were read so far
  TensorEntry tensor_;           // tensor being read
  std::vector<uint64_t> offsets_;
  std::set<std::string> fields_;  // keys of `tensor_` that were read so far
  std::string metadata_key_;
  absl::Status error_;
};

absl::StatusOr<std::string> JsonString(const std::string& what, const std::string& text) {
  if (!IsValidUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(what, " is not UTF-8: ", Quoted(text)));
  return nlohmann::json(text).dump();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json) {
  if (!json.starts_with('{')) return absl::InvalidArgumentError("the header does not start with '{'");
  // The JSON lexer would treat a NUL as the end of the text and ignore the rest.
  if (const size_t nul = json.find('\0'); nul != std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("the header is not valid JSON at byte ", nul));
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) return reader.error();
  return reader.Take();
}

absl::StatusOr<std::string> FormatSafetensorsHeader(const SafetensorsHeader& header) {
  std::vector<std::string> members;
  if (!header.metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : header.metadata) {
      ASSIGN_OR_RETURN(const std::string key_text, JsonString("metadata key", key));
      ASSIGN_OR_RETURN(const std::string value_text, JsonString("metadata value", value));
      pairs.push_back(absl::StrCat(key_text, ":", value_text));
    }
    members.push_back(absl::StrCat("\"", kMetadataKey, "\":{", absl::StrJoin(pairs, ","), "}"));
  }
  for (const TensorEntry& tensor : header.tensors) {
    ASSIGN_OR_RETURN(const std::string name, JsonString("tensor name", tensor.name));
    members.push_back(absl::StrCat(name, ":{\"dtype\":\"", tensor.dtype, "\",\"shape\":[",
                                   absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[", tensor.begin, ",",
                                   tensor.end, "]}"));
  }
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

}  // namespace vitrine
