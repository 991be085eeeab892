// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/embeddings_body.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/drawing/answer_json.h"
#include "common/http/body.h"
#include "common/imaging/file_type.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/wire/http/curl_line.h"
#include "server/wire/http/json_document.h"
#include "server/wire/http/refusal.h"
#include "server/wire/oip/base64.h"
#include "server/wire/oip/infer_answer.h"
#include "server/wire/oip/infer_plan.h"
#include "server/wire/oip/parse_json.h"
#include "server/wire/oip/split_input.h"
#include "server/wire/oip/tensor_view.h"

namespace vitrine {
namespace {

using nlohmann::json;
using OutputTensor = inference::ModelInferRequest::InferRequestedOutputTensor;

constexpr char kInput[] = "input";
constexpr const char* kMembers[] = {"model", kInput, "encoding_format", "user", "version", "feature", "normalize"};

absl::Status CheckMembers(const json& document) {
  for (const auto& [name, value] : document.items()) {
    if (value.is_null()) continue;
    if (name == "dimensions") {
      return absl::InvalidArgumentError(
          "\"dimensions\" is not supported: the model determines the length of vectors; leave it out");
    }
    if (name == "kind") return absl::InvalidArgumentError("\"kind\" is now \"feature\"");
    if (std::find(std::begin(kMembers), std::end(kMembers), name) != std::end(kMembers)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Shown(name), "\" is unknown; valid members are ", absl::StrJoin(kMembers, ", ")));
  }
  return absl::OkStatus();
}

// Returns an error about the member "input".
absl::Status RefuseImages(std::string_view sentence) {
  return AboutMember(absl::InvalidArgumentError({sentence.data(), sentence.size()}), kInput);
}

// Returns true if the text begins like base64 of a file of a known type. The later decoding of the whole text reports
// damage after the beginning.
bool BeginsLikeFile(absl::string_view text) {
  constexpr size_t kBegin = 64;  // characters of base64, which encode 48 bytes
  std::string digits;
  for (const char c : text) {
    if (digits.size() == kBegin) break;
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) digits += c;
  }
  const absl::StatusOr<std::string> begin = ReadBase64(digits);
  return begin.ok() && (LooksLikeImage(*begin) || !FileTypeOf(*begin).empty());
}

// `place` names the image in errors, such as "\"input\"[2]".
absl::Status AddImage(const json& text, std::string_view place, inference::ModelInferRequest& message) {
  if (!text.is_string()) {
    return RefuseImages(
        "\"input\" must be an image, or an array of them: strings of base64 or data URLs; tokens of text are not "
        "accepted");
  }
  const std::string& image = text.get_ref<const std::string&>();
  const std::string_view mistake = MistakenForBase64(image);
  if (!mistake.empty()) return RefuseImages(absl::StrCat(std::string(place), " ", std::string(mistake)));
  if (!absl::StartsWithIgnoreCase(image, "data:") && !BeginsLikeFile(image)) {
    return RefuseImages(absl::StrCat(std::string(place),
                                     " is not an image; this server embeds images only: send base64 or a data URL"));
  }
  message.mutable_inputs(0)->mutable_contents()->add_bytes_contents(image);
  return absl::OkStatus();
}

absl::Status AddImages(const json& document, inference::ModelInferRequest& message) {
  const auto found = document.find(kInput);
  if (found == document.end() || found->is_null()) return RefuseImages("the body lacks \"input\"");
  auto& input = *message.add_inputs();
  input.set_name(kInputName);
  input.set_datatype("BYTES");
  (*input.mutable_parameters())["content_type"].set_string_param("base64");
  const size_t images = found->is_array() ? found->size() : 1;
  if (images < 1 || images > kMaxBatch) {
    return RefuseImages(absl::StrCat("\"input\" has ", images, " images; it must have 1 to ", kMaxBatch));
  }
  input.add_shape(static_cast<int64_t>(images));
  if (!found->is_array()) return AddImage(*found, "\"input\"", message);
  for (size_t i = 0; i < images; ++i) {
    RETURN_IF_ERROR(AddImage((*found)[i], absl::StrCat("\"input\"[", i, "]"), message));
  }
  return absl::OkStatus();
}

absl::Status SetAddress(const json& document, inference::ModelInferRequest& message) {
  ASSIGN_OR_RETURN(const json* model, Member(document, "model", &json::is_string, "a string"));
  if (model == nullptr) return absl::InvalidArgumentError("the body lacks \"model\"");
  ASSIGN_OR_RETURN(const ModelName named, ReadModelName(model->get<std::string>()));
  if (named.view.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"model\" is a tensor view, which takes no image files; give the model itself, \"", Shown(named.model), "\""));
  }
  message.set_model_name(named.model);
  const auto version = document.find("version");
  if (version == document.end() || version->is_null()) return absl::OkStatus();
  if (version->is_number_unsigned()) {
    message.set_model_version(absl::StrCat(version->get<uint64_t>()));
  } else if (version->is_string()) {
    message.set_model_version(version->get<std::string>());
  } else {
    return absl::InvalidArgumentError("\"version\" must be a number or a label");
  }
  return absl::OkStatus();
}

absl::Status AddEmbedding(const json& document, inference::ModelInferRequest& message) {
  OutputTensor& output = *message.add_outputs();
  output.set_name(kEmbedding);
  ASSIGN_OR_RETURN(const json* feature,
                   Member(document, "feature", &json::is_string, "\"projection\", \"class\" or \"mean\""));
  if (feature != nullptr && *feature == "registers") {
    return absl::InvalidArgumentError(
        "\"feature\" is \"registers\", which are several vectors per image; request them at /v2 or with :classify");
  }
  if (feature != nullptr) (*output.mutable_parameters())["kind"].set_string_param(feature->get<std::string>());
  ASSIGN_OR_RETURN(const json* normalize, Member(document, "normalize", &json::is_boolean, "true or false"));
  (*output.mutable_parameters())["normalize"].set_bool_param(normalize == nullptr || normalize->get<bool>());
  return absl::OkStatus();
}

void AppendVector(std::string_view values, bool wants_base64, std::string& text) {
  if (wants_base64) {
    absl::StrAppend(&text, "\"", absl::Base64Escape({values.data(), values.size()}), "\"");
    return;
  }
  text += '[';
  for (size_t at = 0; at < values.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, values.data() + at, sizeof(value));
    if (at > 0) text += ',';
    AppendFloat(value, text);
  }
  text += ']';
}

}  // namespace

absl::StatusOr<EmbeddingsRequest> ReadEmbeddings(std::string_view body) {
  JsonDocument document;
  RETURN_IF_ERROR(ParseJsonBody(body, "the body", document));
  if (!document.root.is_object()) return absl::InvalidArgumentError("the body must be a JSON object");
  RETURN_IF_ERROR(CheckMembers(document.root));
  EmbeddingsRequest request;
  RETURN_IF_ERROR(SetAddress(document.root, request.infer.message));
  RETURN_IF_ERROR(AddImages(document.root, request.infer.message));
  RETURN_IF_ERROR(AddEmbedding(document.root, request.infer.message));
  constexpr char kFormats[] = "\"float\" or \"base64\"";
  ASSIGN_OR_RETURN(const json* format, Member(document.root, "encoding_format", &json::is_string, kFormats));
  if (format == nullptr || *format == "float") return request;
  if (*format != "base64") return absl::InvalidArgumentError(absl::StrCat("\"encoding_format\" must be ", kFormats));
  request.wants_base64 = true;
  return request;
}

std::string WriteEmbeddings(const inference::ModelInferResponse& response, bool wants_base64) {
  const auto& tensor = response.outputs(0);
  const std::string_view values = response.raw_output_contents(0);
  const int64_t vectors = tensor.shape(0), tokens = tensor.parameters().at(kTokensParameter).int64_param();
  const std::string model = JsonDocument::TextOf(json(response.model_name()));
  const std::string made_by =
      absl::StrCat(",\"model\":", model, ",\"version\":", response.model_version(), ",\"weights_sha256\":\"",
                   tensor.parameters().at(kWeightsParameter).string_param(), "\"}");
  const size_t each = values.size() / static_cast<size_t>(vectors);
  std::string text = "{\"object\":\"list\",\"data\":[";
  for (int64_t i = 0; i < vectors; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "{\"object\":\"embedding\",\"index\":", i, ",\"embedding\":");
    AppendVector(values.substr(static_cast<size_t>(i) * each, each), wants_base64, text);
    text += made_by;
  }
  absl::StrAppend(&text, "],\"model\":", model, ",\"usage\":{\"prompt_tokens\":", tokens, ",\"total_tokens\":", tokens,
                  "}}\n");
  return text;
}

absl::Status TooLargeEmbeddings(const absl::Status& too_large) {
  return AboutMember(
      TooLargeError(absl::StrCat(std::string(too_large.message()), " (--max-message-bytes); send fewer images")),
      kInput);
}

}  // namespace vitrine
