// SPDX-License-Identifier: Apache-2.0
#include "server/wire/message/read_message.h"

#include <google/protobuf/message.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/body.h"
#include "common/status_macros.h"
#include "server/wire/message/walker.h"

namespace vitrine {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using InputTensor = ModelInferRequest::InferInputTensor;

// Limit on the bytes of a message that are neither images nor values. Such bytes may encode small fields, each of which
// takes up to a hundred times its encoded size in memory.
constexpr size_t kMostBesideBytes = size_t{64} << 10;
// A message is slow to parse if it has more than this many bytes besides raw contents.
constexpr size_t kSlowBytes = size_t{256} << 10;
// Limit on the number of length-delimited fields (BYTES elements and runs of packed values) in the typed contents of
// the inputs.
constexpr size_t kMostPieces = 4096;

// The fields of a message that protobuf parses: a view of the received bytes if the fields are contiguous, otherwise a
// copy.
class SmallFields {
 public:
  void Add(std::string_view whole) {
    if (joined_.empty() && (run_.empty() || run_.data() + run_.size() == whole.data())) {
      run_ = {run_.empty() ? whole.data() : run_.data(), run_.size() + whole.size()};
      return;
    }
    if (joined_.empty()) joined_ = run_;
    joined_ += whole;
  }
  void Clear() {
    run_ = {};
    joined_.clear();
  }
  size_t size() const { return joined_.empty() ? run_.size() : joined_.size(); }
  bool ParseInto(google::protobuf::Message& message) const {
    const std::string_view all = joined_.empty() ? run_ : joined_;
    return message.ParseFromArray(all.data(), static_cast<int>(all.size()));
  }

 private:
  std::string_view run_;
  std::string joined_;  // empty while `run_` has all fields
};

absl::Status CannotParse(const google::protobuf::Message& message) {
  return absl::InvalidArgumentError(
      absl::StrCat("the message cannot be parsed as ", message.GetDescriptor()->full_name()));
}

absl::Status CheckBeside(size_t bytes) {
  if (bytes <= kMostBesideBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message has ", bytes, " bytes besides its images; at most ", kMostBesideBytes, " are read"));
}

// Merges one occurrence of the tensor field with earlier occurrences. Returns false if `tensor` is malformed.
bool AddTensor(std::string_view tensor, SmallFields& form, std::string_view& data) {
  MessageWalker walker(tensor, MessageWalker::kMaxDepth - 1);
  while (const std::optional<WireField> field = walker.Next()) {
    if (field->IsBytes(v1::RawTensor::kDataFieldNumber)) {
      data = field->value;
    } else {
      form.Add(field->whole);
    }
  }
  return !walker.is_malformed();
}

// Measures an input's contents: adds to `beside` the bytes of fields whose values this server does not read, and to
// `pieces` the number of length-delimited fields. Protobuf will reject malformed contents.
void MeasureContents(std::string_view contents, size_t& pieces, size_t& beside) {
  MessageWalker walker(contents);
  while (const std::optional<WireField> field = walker.Next()) {
    const bool is_value = field->number == InferTensorContents::kBytesContentsFieldNumber ||
                          field->number == InferTensorContents::kUintContentsFieldNumber ||
                          field->number == InferTensorContents::kFp32ContentsFieldNumber;
    if (!is_value || field->type == WireType::kGroup) beside += field->whole.size();
    if (field->type == WireType::kBytes) ++pieces;
  }
}

// Returns the number of bytes of a field that are not tensor values. The field must not be raw_input_contents.
size_t BytesBeside(const WireField& field, size_t& pieces) {
  size_t beside = field.whole.size();
  if (!field.IsBytes(ModelInferRequest::kInputsFieldNumber)) return beside;
  MessageWalker walker(field.value);
  while (const std::optional<WireField> member = walker.Next()) {
    if (!member->IsBytes(InputTensor::kContentsFieldNumber)) continue;
    beside -= member->value.size();
    MeasureContents(member->value, pieces, beside);
  }
  return beside;
}

std::string LastText(std::string_view message, int field_number) {
  std::string_view text;
  MessageWalker walker(message);
  while (const std::optional<WireField> field = walker.Next()) {
    if (field->IsBytes(field_number)) text = field->value;
  }
  return std::string(text);
}

}  // namespace

absl::StatusOr<ReceivedClassify> ReadClassify(MessageBytes bytes) {
  using v1::ClassifyRequest;
  ReceivedClassify read;
  SmallFields rest, form;
  size_t form_bytes = 0;  // bytes of all tensors without their data, including tensors that a later image replaces
  auto input_case = ClassifyRequest::INPUT_NOT_SET;  // case of the last input; inputs of other cases are dropped
  MessageWalker walker(bytes->bytes);
  while (const std::optional<WireField> field = walker.Next()) {
    if (field->IsBytes(ClassifyRequest::kImageFieldNumber)) {
      input_case = ClassifyRequest::kImage;
      read.input = field->value;
      form.Clear();
    } else if (field->IsBytes(ClassifyRequest::kTensorFieldNumber)) {
      if (std::exchange(input_case, ClassifyRequest::kTensor) == ClassifyRequest::kImage) read.input = {};
      const size_t before = form.size();
      if (!AddTensor(field->value, form, read.input)) return CannotParse(read.message);
      form_bytes += form.size() - before;
    } else {
      rest.Add(field->whole);
    }
    RETURN_IF_ERROR(CheckBeside(rest.size() + form_bytes));
  }
  if (walker.is_malformed() || !rest.ParseInto(read.message)) return CannotParse(read.message);
  if (input_case == ClassifyRequest::kImage) read.message.mutable_image();
  if (input_case == ClassifyRequest::kTensor && !form.ParseInto(*read.message.mutable_tensor())) {
    return CannotParse(read.message);
  }
  read.owner = std::move(bytes);
  return read;
}

absl::StatusOr<ReceivedInfer> ReadInfer(MessageBytes bytes) {
  ReceivedInfer read;
  SmallFields rest;
  size_t beside = 0, pieces = 0;
  MessageWalker walker(bytes->bytes);
  while (const std::optional<WireField> field = walker.Next()) {
    if (field->IsBytes(ModelInferRequest::kRawInputContentsFieldNumber)) {
      if (read.raw.size() < kMostRawContents) read.raw.push_back(field->value);
      continue;
    }
    rest.Add(field->whole);
    beside += BytesBeside(*field, pieces);
    RETURN_IF_ERROR(CheckBeside(beside));
    if (pieces > kMostPieces) {
      return absl::InvalidArgumentError(
          absl::StrCat("the contents of the inputs are in more than ", kMostPieces, " pieces"));
    }
  }
  if (walker.is_malformed()) return CannotParse(read.message);
  if (!rest.ParseInto(read.message)) return CannotParse(read.message);
  if (rest.size() > kMostBesideBytes) {
    read.parsed = bytes->share.Another();
    if (!read.parsed.Add(static_cast<int64_t>(read.message.SpaceUsedLong()))) return NoRoomError();
  }
  read.owner = std::move(bytes);
  return read;
}

bool IsSlowInfer(std::string_view infer_request) {
  if (infer_request.size() <= kSlowBytes) return false;
  size_t parsed = 0;
  MessageWalker walker(infer_request);
  while (const std::optional<WireField> field = walker.Next()) {
    parsed += field->whole.size();
    if (field->IsBytes(ModelInferRequest::kRawInputContentsFieldNumber)) parsed -= field->value.size();
    if (parsed > kSlowBytes) return true;
  }
  return false;
}

std::string RequestIdOf(std::string_view classify_request) {
  return LastText(classify_request, v1::ClassifyRequest::kRequestIdFieldNumber);
}

std::string InferIdOf(std::string_view infer_request) {
  return LastText(infer_request, ModelInferRequest::kIdFieldNumber);
}

}  // namespace vitrine
