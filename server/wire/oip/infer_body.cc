// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_body.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/wire/http/json_document.h"
#include "server/wire/oip/parameters.h"
#include "server/wire/oip/parse_json.h"
#include "server/wire/oip/split_input.h"

namespace vitrine {
namespace {

using inference::InferParameter;
using nlohmann::json;
using InputTensor = inference::ModelInferRequest::InferInputTensor;
using OutputTensor = inference::ModelInferRequest::InferRequestedOutputTensor;

constexpr size_t kMaxTensors = 16;     // maximum number of inputs, and of outputs
constexpr size_t kMaxParameters = 32;  // maximum number of parameters of one object
constexpr size_t kMaxDimensions = 8;   // maximum dimensions of a shape
constexpr size_t kMaxMembers = 32;     // if an object has more members, their spelling is not checked

absl::Status RefuseBody(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

// Rejects a member whose name is probably a misspelling of one of `members`, because ignoring it would change the
// answer. Other members are ignored: some clients send members of their own.
absl::Status CheckSpelling(const json& object, const std::vector<std::string>& members, const char* whose) {
  if (object.size() > kMaxMembers) return absl::OkStatus();
  for (const auto& [name, value] : object.items()) {
    if (std::find(members.begin(), members.end(), name) != members.end()) continue;
    if (const std::string near = NearestWord(name, members); !near.empty()) {
      return RefuseBody(absl::StrCat(whose, " has \"", Shown(name), "\"; did you mean \"", near, "\"?"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RequiredText(const json& object, const char* name, const char* whose) {
  ASSIGN_OR_RETURN(const json* text, Member(object, name, &json::is_string, "a string"));
  if (text == nullptr) return RefuseBody(absl::StrCat(whose, " lacks \"", name, "\""));
  return text->get<std::string>();
}

absl::Status ReadParameter(const std::string& name, const json& value, InferParameter& parameter) {
  if (value.is_boolean()) {
    parameter.set_bool_param(value.get<bool>());
  } else if (value.is_string()) {
    parameter.set_string_param(value.get<std::string>());
  } else if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) {
    parameter.set_uint64_param(value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    parameter.set_int64_param(value.get<int64_t>());
  } else if (value.is_number_float()) {
    parameter.set_double_param(value.get<double>());
  } else {
    return RefuseBody(absl::StrCat("parameter \"", Shown(name), "\" must be a string, a number, true or false"));
  }
  return absl::OkStatus();
}

absl::Status ReadParameters(const json& object, InferParameters& parameters) {
  ASSIGN_OR_RETURN(const json* given, Member(object, "parameters", &json::is_object, "an object"));
  if (given == nullptr) return absl::OkStatus();
  if (given->size() > kMaxParameters)
    return RefuseBody(absl::StrCat("there are more than ", kMaxParameters, " parameters"));
  for (const auto& [name, value] : given->items()) {
    if (!value.is_null()) RETURN_IF_ERROR(ReadParameter(name, value, parameters[name]));
  }
  return absl::OkStatus();
}

// Removes a boolean parameter, which exists only in the REST form, and returns its value.
absl::StatusOr<std::optional<bool>> TakeTruth(InferParameters& parameters, const char* name) {
  ASSIGN_OR_RETURN(const std::optional<bool> value, Truth(parameters, name));
  parameters.erase(name);
  return value;
}

absl::Status ReadShape(const json& object, InputTensor& input) {
  ASSIGN_OR_RETURN(const json* shape, Member(object, "shape", &json::is_array, "an array"));
  if (shape == nullptr) return RefuseBody("an input lacks \"shape\"");
  if (shape->size() > kMaxDimensions)
    return RefuseBody(absl::StrCat("a shape has more than ", kMaxDimensions, " dimensions"));
  for (const json& side : *shape) {
    if (!side.is_number_unsigned() || side.get<uint64_t>() > INT32_MAX) {
      return RefuseBody("a shape must consist of whole numbers from 0 to 2147483647");
    }
    input.add_shape(side.get<int64_t>());
  }
  return absl::OkStatus();
}

absl::Status AddValue(const json& value, InputTensor& input) {
  inference::InferTensorContents& contents = *input.mutable_contents();
  if (input.datatype() == "BYTES") {
    if (!value.is_string()) return RefuseBody("\"data\" of BYTES must consist of strings");
    contents.add_bytes_contents(value.get<std::string>());
    return absl::OkStatus();
  }
  if (input.datatype() == "UINT8") {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > 255) {
      return RefuseBody("\"data\" of UINT8 must consist of whole numbers from 0 to 255");
    }
    contents.add_uint_contents(value.get<uint32_t>());
    return absl::OkStatus();
  }
  if (!value.is_number() || std::abs(value.get<double>()) > FLT_MAX) {
    return RefuseBody("\"data\" of FP32 must consist of numbers in the range of fp32");
  }
  contents.add_fp32_contents(value.get<float>());
  return absl::OkStatus();
}

// Returns true if `value` consists of nested arrays whose lengths equal the input's dimensions, starting at index
// `dimension`.
bool IsNestedLike(const json& value, const InputTensor& input, int dimension) {
  if (dimension == input.shape_size()) return !value.is_array();
  return value.is_array() && static_cast<int64_t>(value.size()) == input.shape(dimension) &&
         std::all_of(value.begin(), value.end(),
                     [&](const json& each) { return IsNestedLike(each, input, dimension + 1); });
}

// Checks that nested data matches the shape. Flat data is accepted for any shape.
absl::Status CheckNesting(const json& data, const InputTensor& input) {
  const bool is_flat = std::none_of(data.begin(), data.end(), [](const json& each) { return each.is_array(); });
  if (is_flat || IsNestedLike(data, input, 0)) return absl::OkStatus();
  std::vector<size_t> lengths;  // length of the first array of each level
  for (const json* level = &data; level->is_array(); level = &level->front()) {
    lengths.push_back(level->size());
    if (level->empty()) break;
  }
  const std::string nested = absl::StrJoin(lengths, ", "), shape = absl::StrJoin(input.shape(), ", ");
  return RefuseBody(absl::StrCat("\"data\" is nested ", nested == shape ? "unevenly, at first as [" : "as [", nested,
                                 "], but \"shape\" is [", shape, "]; nest it like the shape, or send it flat"));
}

// Reads data, flat or nested, in row-major order.
absl::Status AddValues(const json& data, InputTensor& input) {
  if (!data.is_array()) return AddValue(data, input);
  for (const json& each : data) RETURN_IF_ERROR(AddValues(each, input));
  return absl::OkStatus();
}

// Takes the input's binary data from the front of `binary`.
absl::Status TakeBinary(int64_t size, std::string_view& binary, ReceivedInfer& request) {
  if (size < 0 || static_cast<uint64_t>(size) > binary.size()) {
    return RefuseBody(absl::StrCat("\"binary_data_size\" is ", size, ", but ", binary.size(),
                                   " bytes follow the JSON; Inference-Header-Content-Length says where it ends"));
  }
  request.raw.push_back(binary.substr(0, size));
  binary.remove_prefix(size);
  return absl::OkStatus();
}

absl::Status ReadInput(const json& object, std::string_view& binary, ReceivedInfer& request) {
  if (!object.is_object()) return RefuseBody("\"inputs\" must consist of objects");
  RETURN_IF_ERROR(CheckSpelling(object, {"name", "datatype", "shape", "parameters", "data"}, "an input"));
  InputTensor& input = *request.message.add_inputs();
  ASSIGN_OR_RETURN(*input.mutable_name(), RequiredText(object, "name", "an input"));
  ASSIGN_OR_RETURN(*input.mutable_datatype(), RequiredText(object, "datatype", "an input"));
  RETURN_IF_ERROR(ReadShape(object, input));
  RETURN_IF_ERROR(ReadParameters(object, *input.mutable_parameters()));
  ASSIGN_OR_RETURN(const std::optional<int64_t> size, WholeNumber(input.parameters(), "binary_data_size"));
  input.mutable_parameters()->erase("binary_data_size");
  ASSIGN_OR_RETURN(const json* data, Member(object, "data", &json::is_array, "an array"));
  if (size.has_value() == (data != nullptr)) {
    if (input.parameters().contains("shared_memory_region")) {
      return absl::UnimplementedError(
          absl::StrCat("input \"", Shown(input.name()),
                       "\" requests shared memory, which is not supported; send the values themselves"));
    }
    return RefuseBody("an input needs either \"data\" or the parameter \"binary_data_size\"");
  }
  if (size.has_value()) return TakeBinary(*size, binary, request);
  input.mutable_contents();
  if (input.datatype() != "BYTES" && input.datatype() != "UINT8" && input.datatype() != "FP32") return absl::OkStatus();
  RETURN_IF_ERROR(CheckNesting(*data, input));
  return AddValues(*data, input);
}

absl::Status ReadOutput(const json& object, HttpInferRequest& request) {
  if (!object.is_object()) return RefuseBody("\"outputs\" must consist of objects");
  RETURN_IF_ERROR(CheckSpelling(object, {"name", "parameters"}, "an output"));
  OutputTensor& output = *request.infer.message.add_outputs();
  ASSIGN_OR_RETURN(*output.mutable_name(), RequiredText(object, "name", "an output"));
  RETURN_IF_ERROR(ReadParameters(object, *output.mutable_parameters()));
  ASSIGN_OR_RETURN(const std::optional<bool> binary, TakeTruth(*output.mutable_parameters(), "binary_data"));
  if (binary.has_value()) request.binary[output.name()] = *binary;
  return absl::OkStatus();
}

absl::Status CheckCount(const json& list, const char* name) {
  if (list.size() <= kMaxTensors) return absl::OkStatus();
  return RefuseBody(absl::StrCat("\"", name, "\" has ", list.size(), " entries; at most ", kMaxTensors, " are read"));
}

absl::StatusOr<HttpInferRequest> ReadDocument(const json& document, std::string_view binary) {
  HttpInferRequest request;
  inference::ModelInferRequest& message = request.infer.message;
  if (!document.is_object()) return RefuseBody("the body must be a JSON object");
  RETURN_IF_ERROR(CheckSpelling(document, {"id", "parameters", "inputs", "outputs"}, "the body"));
  ASSIGN_OR_RETURN(const json* id, Member(document, "id", &json::is_string, "a string"));
  if (id != nullptr) message.set_id(id->get<std::string>());
  RETURN_IF_ERROR(ReadParameters(document, *message.mutable_parameters()));
  ASSIGN_OR_RETURN(const std::optional<bool> all, TakeTruth(*message.mutable_parameters(), "binary_data_output"));
  request.binary_by_default = all.value_or(false);
  ASSIGN_OR_RETURN(const json* inputs, Member(document, "inputs", &json::is_array, "an array"));
  if (inputs == nullptr) return RefuseBody("the body lacks \"inputs\"");
  RETURN_IF_ERROR(CheckCount(*inputs, "inputs"));
  for (const json& input : *inputs) RETURN_IF_ERROR(ReadInput(input, binary, request.infer));
  if (!binary.empty()) return RefuseBody(absl::StrCat(binary.size(), " bytes of the body belong to no input"));
  ASSIGN_OR_RETURN(const json* outputs, Member(document, "outputs", &json::is_array, "an array"));
  if (outputs == nullptr) return request;
  RETURN_IF_ERROR(CheckCount(*outputs, "outputs"));
  for (const json& output : *outputs) RETURN_IF_ERROR(ReadOutput(output, request));
  return request;
}

// Writes the elements of a BYTES tensor. The tensor must be valid; it was made by this server.
void PutTexts(std::string_view raw, json& data) {
  while (raw.size() >= kElementLengthBytes) {
    const uint32_t length = ElementLength(raw);
    Append(data) = std::string(raw.substr(kElementLengthBytes, length));
    raw.remove_prefix(kElementLengthBytes + length);
  }
}

void PutNumbers(std::string_view raw, json& data) {
  for (; raw.size() >= sizeof(float); raw.remove_prefix(sizeof(float))) {
    float value;
    std::memcpy(&value, raw.data(), sizeof(value));
    Append(data) = value;
  }
}

void PutTruths(std::string_view raw, json& data) {
  for (const char truth : raw) Append(data) = truth != 0;
}

void PutData(const std::string& datatype, std::string_view raw, json& data) {
  if (datatype == "BYTES") return PutTexts(raw, data);
  if (datatype == "BOOL") return PutTruths(raw, data);
  PutNumbers(raw, data);
}

void PutTensor(const inference::ModelInferResponse::InferOutputTensor& tensor, json& output) {
  output = JsonObject();
  output["name"] = tensor.name();
  output["datatype"] = tensor.datatype();
  json& shape = output["shape"];
  shape = JsonArray();
  for (const int64_t side : tensor.shape()) Append(shape) = side;
  for (const auto& [name, value] : tensor.parameters()) {
    json& parameter = output["parameters"][name];
    if (value.parameter_choice_case() == InferParameter::kStringParam) {
      parameter = value.string_param();
    } else {
      parameter = value.int64_param();
    }
  }
}

// Returns the request for a raw binary body: one input with one element, and binary outputs.
HttpInferRequest RawElement(std::string body) {
  HttpInferRequest request;
  request.binary_by_default = true;
  InputTensor& input = *request.infer.message.add_inputs();
  input.set_name(kInputName);
  input.set_datatype("BYTES");
  input.add_shape(1);
  *input.mutable_contents()->add_bytes_contents() = std::move(body);
  return request;
}

}  // namespace

absl::StatusOr<HttpInferRequest> ReadInferBody(std::string body, std::optional<size_t> json_bytes) {
  if (json_bytes.value_or(0) > body.size()) {
    return RefuseBody(
        absl::StrCat("Inference-Header-Content-Length is ", *json_bytes, ", but the body has ", body.size(), " bytes"));
  }
  if (json_bytes == size_t{0}) return RawElement(std::move(body));
  MessageBytes owner = std::make_shared<const ReceivedBytes>(ReceivedBytes{std::move(body), {}});
  const std::string_view all = owner->bytes, text = all.substr(0, json_bytes.value_or(all.size()));
  JsonDocument document;
  RETURN_IF_ERROR(ParseJsonBody(text,
                                json_bytes.has_value()
                                    ? "the first part of the body, as long as Inference-Header-Content-Length says,"
                                    : "the body",
                                document));
  std::string_view binary = all.substr(text.size());
  if (binary.size() < text.size()) {  // frees a long JSON text early, because admission counts only the images' bytes
    owner = std::make_shared<const ReceivedBytes>(ReceivedBytes{std::string(binary), {}});
    binary = owner->bytes;
  }
  ASSIGN_OR_RETURN(HttpInferRequest request, ReadDocument(document.root, binary));
  request.infer.owner = std::move(owner);
  return request;
}

HttpInferBody WriteInferBody(const inference::ModelInferResponse& response, const HttpInferRequest& request) {
  JsonDocument document;
  document.root = JsonObject();
  document.root["model_name"] = response.model_name();
  document.root["model_version"] = response.model_version();
  if (!response.id().empty()) document.root["id"] = response.id();
  json& outputs = document.root["outputs"];
  outputs = JsonArray();
  std::string binary;
  bool any_binary = false;
  for (int i = 0; i < response.outputs_size(); ++i) {
    const auto& tensor = response.outputs(i);
    const std::string& raw = response.raw_output_contents(i);
    json& output = Append(outputs);
    PutTensor(tensor, output);
    const auto chosen = request.binary.find(tensor.name());
    if (chosen == request.binary.end() ? request.binary_by_default : chosen->second) {
      any_binary = true;
      output["parameters"]["binary_data_size"] = raw.size();
      binary += raw;
      continue;
    }
    json& data = output["data"];
    data = JsonArray();
    PutData(tensor.datatype(), raw, data);
  }
  HttpInferBody body;
  body.bytes = document.Text();  // replaces invalid UTF-8: labels may contain any bytes
  if (any_binary) body.json_bytes = body.bytes.size();
  body.bytes += binary;
  return body;
}

}  // namespace vitrine
