// SPDX-License-Identifier: Apache-2.0
#include "client/engine/vitrine_engine.h"

#include <google/protobuf/util/json_util.h>

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/engine/local_model.h"
#include "common/drawing/answer_json.h"
#include "common/status_macros.h"
#include "server/serve/execution/attention_encoding.h"

using vitrine::LocalImage;
using vitrine::LocalModel;
namespace v1 = vitrine::v1;

struct VitrineEngineModel {
  std::unique_ptr<LocalModel> model;
  std::string message;
  std::string json;
};

struct VitrineEngineAnswers {
  struct Answer {
    absl::StatusOr<v1::ClassifyResponse> response;
    std::string json = {};     // created by the first call of vitrine_engine_answer_json
    std::string message = {};  // created by the first call of vitrine_engine_answer_message
  };
  std::vector<Answer> answers;
};

namespace {

constexpr size_t kMaxImages = size_t{1} << 20;
// Size of VitrineEngineOptions in the first version of the API.
constexpr size_t kFirstOptions = sizeof(VitrineEngineOptions);

thread_local std::string last_error;  // NOLINT(runtime/string)

int Code(const absl::Status& status) {
  if (!status.ok()) last_error = std::string(status.message());
  return static_cast<int>(status.code());
}

// Calls `function` and returns the code of its status. Converts an exception to a code.
template <typename Function>
int Guarded(const Function& function) noexcept {
  try {
    try {
      return Code(function());
    } catch (const std::bad_alloc&) {
      return Code(absl::ResourceExhaustedError("memory ran out; use fewer or smaller images per call"));
    } catch (const std::system_error& error) {
      return Code(absl::ResourceExhaustedError(
          absl::StrCat("a thread could not be started (", error.what(), "); load with fewer threads")));
    } catch (const std::exception& error) {
      return Code(absl::InternalError(absl::StrCat("the engine failed: ", error.what())));
    }
  } catch (...) {  // no memory for the error message
    last_error.clear();
    return VITRINE_ENGINE_RESOURCE_EXHAUSTED;
  }
}

absl::Status Missing(const char* name) {
  return absl::InvalidArgumentError(absl::StrCat(name, " is NULL"));
}

absl::StatusOr<VitrineEngineOptions> OptionsOf(const VitrineEngineOptions* given) {
  VitrineEngineOptions options = {};
  if (given == nullptr) return options;
  if (given->struct_size < kFirstOptions) {
    return absl::InvalidArgumentError(absl::StrCat("options.struct_size is ", given->struct_size,
                                                   "; set it to sizeof(VitrineEngineOptions), at least ",
                                                   kFirstOptions));
  }
  std::memcpy(&options, given, sizeof(options));  // ignores members that only newer callers have
  if (options.threads < 0 || options.threads > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("options.threads is ", options.threads, "; it must be 0 (one per core) to 1024"));
  }
  return options;
}

absl::StatusOr<vitrine::Precision> PrecisionOf(const VitrineEngineOptions& options) {
  if (options.precision == nullptr) return vitrine::Precision::kFp32;
  const std::optional<vitrine::Precision> precision = vitrine::ParsePrecision(options.precision);
  if (precision.has_value()) return *precision;
  return absl::InvalidArgumentError(
      absl::StrCat("options.precision is \"", options.precision, "\"; it must be fp32, bf16 or int8"));
}

absl::StatusOr<std::unique_ptr<VitrineEngineModel>> Load(const char* repository, const char* model,
                                                         const VitrineEngineOptions* given) {
  if (model == nullptr) return Missing("model");
  ASSIGN_OR_RETURN(const VitrineEngineOptions options, OptionsOf(given));
  ASSIGN_OR_RETURN(const vitrine::Precision precision, PrecisionOf(options));
  ASSIGN_OR_RETURN(const vitrine::VersionPlace place,
                   vitrine::FindVersion(repository == nullptr ? "" : repository, model));
  auto loaded = std::make_unique<VitrineEngineModel>();
  ASSIGN_OR_RETURN(loaded->model, LocalModel::Load(place, options.threads, precision));
  const v1::ModelVersion version = loaded->model->Describe();
  loaded->message = version.SerializeAsString();
  google::protobuf::util::JsonPrintOptions form;
  form.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(version, &loaded->json, form).ok()) {
    return absl::InternalError("the version cannot be written as JSON");
  }
  return loaded;
}

absl::StatusOr<v1::ClassifyRequest> RequestOf(const void* data, size_t size) {
  v1::ClassifyRequest request;
  if (size > 0 && data == nullptr) return Missing("request");
  const std::string_view text(static_cast<const char*>(data), size);
  if (text.starts_with('{')) {
    const auto parsed = google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, &request);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("request is no JSON of a vitrine.v1.ClassifyRequest: ", std::string(parsed.message())));
    }
  } else if (size > 0 && (size > INT32_MAX || !request.ParseFromArray(data, static_cast<int>(size)))) {
    return absl::InvalidArgumentError("request is neither a serialized vitrine.v1.ClassifyRequest nor JSON of one");
  }
  request.clear_model();
  request.clear_version();
  request.clear_version_label();
  request.clear_input();
  request.clear_time_limit();
  if (!request.has_max_attention_bytes()) request.set_max_attention_bytes(vitrine::kMaxAttentionBytes);
  for (v1::AttentionRequest& requested : *request.mutable_attention()) {
    if (requested.encoding() == v1::ATTENTION_ENCODING_UNSPECIFIED) requested.set_encoding(v1::FLOAT32);
  }
  return request;
}

absl::StatusOr<LocalImage> ImageOf(const v1::ClassifyRequest& request, const VitrineEngineImage& image) {
  if (image.data == nullptr && image.size > 0) return Missing("the data of an image");
  LocalImage local = {request, {static_cast<const char*>(image.data), image.size}};
  if (image.input == VITRINE_ENGINE_FILE) {
    local.request.set_image("");
    return local;
  }
  if (image.input < VITRINE_ENGINE_FILE || image.input > VITRINE_ENGINE_NORMALIZED) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input of an image is ", image.input, "; it must be one of VitrineEngineInput"));
  }
  v1::RawTensor& tensor = *local.request.mutable_tensor();
  tensor.set_data_type(image.input == VITRINE_ENGINE_UINT8 ? v1::RawTensor::DATA_UINT8 : v1::RawTensor::DATA_FLOAT32);
  tensor.set_normalized(image.input == VITRINE_ENGINE_NORMALIZED);
  tensor.set_layout(image.input == VITRINE_ENGINE_NORMALIZED ? v1::RawTensor::CHW : v1::RawTensor::HWC);
  tensor.set_height(image.height);
  tensor.set_width(image.width);
  tensor.set_channels(image.channels);
  return local;
}

absl::StatusOr<std::unique_ptr<VitrineEngineAnswers>> Run(VitrineEngineModel* model, const VitrineEngineImage* images,
                                                          size_t count, const void* request, size_t request_size) {
  if (model == nullptr) return Missing("model");
  if (images == nullptr && count > 0) return Missing("images");
  if (count > kMaxImages) {
    return absl::InvalidArgumentError(
        absl::StrCat("the call has ", count, " images; at most ", kMaxImages, " are allowed"));
  }
  if (model->model->IsForked()) {
    return absl::FailedPreconditionError(
        "the model was loaded before this process was forked, and its threads are in the parent; load it here");
  }
  ASSIGN_OR_RETURN(const v1::ClassifyRequest wanted, RequestOf(request, request_size));
  std::vector<LocalImage> local;
  local.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(LocalImage image, ImageOf(wanted, images[i]));
    local.push_back(std::move(image));
  }
  auto answers = std::make_unique<VitrineEngineAnswers>();
  answers->answers.reserve(count);
  for (auto& response : model->model->Run(std::move(local))) answers->answers.push_back({std::move(response)});
  return answers;
}

// Returns the answer to one image. Returns the image's error if the image failed. OUT_OF_RANGE: there is no such image.
absl::StatusOr<VitrineEngineAnswers::Answer*> At(VitrineEngineAnswers* answers, size_t image) {
  if (answers == nullptr) return Missing("answers");
  if (image >= answers->answers.size()) {
    return absl::OutOfRangeError(absl::StrCat("there is no image ", image, "; the call had ", answers->answers.size()));
  }
  VitrineEngineAnswers::Answer& answer = answers->answers[image];
  RETURN_IF_ERROR(answer.response.status());
  return &answer;
}

absl::Status NoEntry(const char* what, size_t entry, int count) {
  return absl::OutOfRangeError(absl::StrCat("there is no ", what, " ", entry, "; the answer has ", count));
}

absl::Status NotFloats(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat("the ", what, " is not encoded as FLOAT32; request FLOAT32"));
}

const float* Floats(const std::string& values) {
  return reinterpret_cast<const float*>(values.data());
}

absl::Status AttentionAt(VitrineEngineAnswers* answers, size_t image, size_t entry, VitrineEngineArray* out) {
  if (out == nullptr) return Missing("out");
  ASSIGN_OR_RETURN(const VitrineEngineAnswers::Answer* answer, At(answers, image));
  const auto& maps = answer->response->attention();
  if (entry >= static_cast<size_t>(maps.size())) return NoEntry("attention map", entry, maps.size());
  const v1::AttentionMap& map = maps[static_cast<int>(entry)];
  if (map.encoding() != v1::FLOAT32) return NotFloats("attention map");
  *out = {Floats(map.values()), map.rows(), map.columns(), 1, map.kind(), map.layer(), map.head()};
  return absl::OkStatus();
}

absl::Status FeatureAt(VitrineEngineAnswers* answers, size_t image, size_t entry, VitrineEngineArray* out) {
  if (out == nullptr) return Missing("out");
  ASSIGN_OR_RETURN(const VitrineEngineAnswers::Answer* answer, At(answers, image));
  const auto& features = answer->response->features();
  if (entry >= static_cast<size_t>(features.size())) return NoEntry("feature", entry, features.size());
  const v1::Feature& feature = features[static_cast<int>(entry)];
  if (feature.encoding() != v1::FEATURE_FLOAT32) return NotFloats("feature");
  *out = {Floats(feature.values()), feature.rows(), feature.columns(), feature.width(), feature.kind(), -1, -1};
  return absl::OkStatus();
}

absl::Status JsonOf(VitrineEngineAnswers* answers, size_t image, const char** json) {
  if (json == nullptr) return Missing("json");
  ASSIGN_OR_RETURN(VitrineEngineAnswers::Answer* const answer, At(answers, image));
  for (const v1::AttentionMap& map : answer->response->attention()) {
    if (map.encoding() != v1::FLOAT32 && map.encoding() != v1::OVERLAY_PNG) return NotFloats("attention map");
  }
  for (const v1::Feature& feature : answer->response->features()) {
    if (feature.encoding() != v1::FEATURE_FLOAT32) return NotFloats("feature");
  }
  if (answer->json.empty()) answer->json = vitrine::AnswerJson(*answer->response);
  *json = answer->json.c_str();
  return absl::OkStatus();
}

}  // namespace

int vitrine_engine_api(void) {
  return VITRINE_ENGINE_API;
}

const char* vitrine_engine_version(void) {
  return VITRINE_VERSION;
}

const char* vitrine_engine_last_error(void) {
  return last_error.c_str();
}

int vitrine_engine_load(const char* repository, const char* model, const VitrineEngineOptions* options,
                        VitrineEngineModel** out) {
  return Guarded([&]() -> absl::Status {
    if (out == nullptr) return Missing("out");
    *out = nullptr;
    ASSIGN_OR_RETURN(std::unique_ptr<VitrineEngineModel> loaded, Load(repository, model, options));
    *out = loaded.release();
    return absl::OkStatus();
  });
}

void vitrine_engine_free(VitrineEngineModel* model) {
  if (model == nullptr || model->model->IsForked()) return;  // a forked process has no threads to join
  delete model;
}

const char* vitrine_engine_describe(const VitrineEngineModel* model) {
  return model == nullptr ? nullptr : model->json.c_str();
}

int vitrine_engine_describe_message(const VitrineEngineModel* model, const void** data, size_t* size) {
  return Guarded([&]() -> absl::Status {
    if (model == nullptr || data == nullptr || size == nullptr) return Missing("model, data or size");
    *data = model->message.data();
    *size = model->message.size();
    return absl::OkStatus();
  });
}

int vitrine_engine_run(VitrineEngineModel* model, const VitrineEngineImage* images, size_t count, const void* request,
                       size_t request_size, VitrineEngineAnswers** out) {
  return Guarded([&]() -> absl::Status {
    if (out == nullptr) return Missing("out");
    *out = nullptr;
    ASSIGN_OR_RETURN(std::unique_ptr<VitrineEngineAnswers> answers, Run(model, images, count, request, request_size));
    *out = answers.release();
    return absl::OkStatus();
  });
}

void vitrine_engine_answers_free(VitrineEngineAnswers* answers) {
  delete answers;
}

size_t vitrine_engine_answer_count(const VitrineEngineAnswers* answers) {
  return answers == nullptr ? 0 : answers->answers.size();
}

int vitrine_engine_answer_status(VitrineEngineAnswers* answers, size_t image) {
  return Guarded([&] { return At(answers, image).status(); });
}

int vitrine_engine_answer_prediction(VitrineEngineAnswers* answers, size_t image, size_t rank,
                                     VitrineEnginePrediction* out) {
  return Guarded([&]() -> absl::Status {
    if (out == nullptr) return Missing("out");
    ASSIGN_OR_RETURN(const VitrineEngineAnswers::Answer* answer, At(answers, image));
    const auto& predictions = answer->response->predictions();
    if (rank >= static_cast<size_t>(predictions.size())) return NoEntry("prediction", rank, predictions.size());
    const v1::Prediction& found = predictions[static_cast<int>(rank)];
    *out = {found.index(), found.label().c_str(), found.probability(), found.logit()};
    return absl::OkStatus();
  });
}

int vitrine_engine_answer_attention(VitrineEngineAnswers* answers, size_t image, size_t entry,
                                    VitrineEngineArray* out) {
  return Guarded([&] { return AttentionAt(answers, image, entry, out); });
}

int vitrine_engine_answer_feature(VitrineEngineAnswers* answers, size_t image, size_t entry, VitrineEngineArray* out) {
  return Guarded([&] { return FeatureAt(answers, image, entry, out); });
}

int vitrine_engine_answer_json(VitrineEngineAnswers* answers, size_t image, const char** json) {
  return Guarded([&] { return JsonOf(answers, image, json); });
}

int vitrine_engine_answer_message(VitrineEngineAnswers* answers, size_t image, const void** data, size_t* size) {
  return Guarded([&]() -> absl::Status {
    if (data == nullptr || size == nullptr) return Missing("data or size");
    ASSIGN_OR_RETURN(VitrineEngineAnswers::Answer* const answer, At(answers, image));
    if (answer->message.empty()) answer->message = answer->response->SerializeAsString();
    *data = answer->message.data();
    *size = answer->message.size();
    return absl::OkStatus();
  });
}
