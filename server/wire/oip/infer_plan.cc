// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/infer_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/drawing/attention_words.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "server/wire/http/address.h"
#include "server/wire/oip/parameters.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {
namespace {

using inference::ModelInferRequest;
using OutputTensor = ModelInferRequest::InferRequestedOutputTensor;

constexpr char kEmptyFinalResponse[] = "triton_enable_empty_final_response";
constexpr int kMaxOutputs = 8;
constexpr int64_t kMostAttentionBytes = int64_t{16} << 20;  // for one image, including features
constexpr absl::Duration kMaxTimeout = absl::Hours(1);
// Parameters of the request that stand for `kind`, `layer` and `head` of the output "attention".
constexpr char kAttentionPrefix[] = "attention_";
constexpr const char* kAttentionParameters[] = {"attention_kind", "attention_layer", "attention_head"};

absl::Status SetPriority(const ModelInferRequest& from, v1::ClassifyRequest& request) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> said, WholeNumber(from.parameters(), "priority"));
  constexpr v1::Priority kLevels[kPriorityLevels + 1] = {v1::NORMAL, v1::HIGH, v1::NORMAL, v1::LOW};
  const int64_t level = said.value_or(0);
  if (level < 0 || level > kPriorityLevels) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter \"priority\" is ", level, "; it must be 1 (high), 2 (normal), 3 (low) or 0 (not set)"));
  }
  request.set_priority(kLevels[level]);
  return absl::OkStatus();
}

// Rejects a request that belongs to a sequence. Accepts a zero or empty sequence_id, which clients send with every
// request.
absl::Status CheckSequence(const ModelInferRequest& request) {
  const auto found = request.parameters().find("sequence_id");
  if (found == request.parameters().end()) return absl::OkStatus();
  if (found->second.int64_param() == 0 && found->second.uint64_param() == 0 && found->second.string_param().empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the request belongs to a sequence, but models here keep no state between requests");
}

absl::StatusOr<int> ClassificationOf(const OutputTensor& output, int classes) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> wanted, WholeNumber(output.parameters(), "classification"));
  if (!wanted.has_value()) return 0;
  if (*wanted < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter \"classification\" is ", *wanted, "; it must be 1 or more"));
  }
  return static_cast<int>(std::min<int64_t>(*wanted, classes));
}

// Returns the attention kind with this name, as on the command line and in URLs ("class-attention") or as in the .proto
// ("CLASS_ATTENTION"); ignores case.
std::optional<v1::AttentionKind> KindOf(const std::string& name) {
  const std::string word = absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
  if (const std::optional<v1::AttentionKind> kind = AttentionKindOf(word); kind.has_value()) return kind;
  v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
  const std::string constant = absl::StrReplaceAll(absl::AsciiStrToUpper(name), {{"-", "_"}});
  if (!v1::AttentionKind_Parse(constant, &kind) || kind == v1::ATTENTION_KIND_UNSPECIFIED) return std::nullopt;
  return kind;
}

// Returns the kind of attention for requests that name no kind: the model's first kind on the token grid other than
// QUERY_ROW.
std::optional<v1::AttentionKind> DefaultKind(const AttentionAbility* ability) {
  if (ability == nullptr) return std::nullopt;
  for (const AttentionAbility::Offer& offer : ability->offers) {
    if (IsSpatial(offer.kind) && offer.kind != v1::QUERY_ROW) return offer.kind;
  }
  return std::nullopt;
}

// Reads the output's parameters. A parameter that the output lacks is read from the request, because tritonclient
// cannot set parameters of an output.
absl::StatusOr<v1::AttentionRequest> AttentionOf(const OutputTensor& output, const InferParameters& request,
                                                 const AttentionAbility* ability) {
  RETURN_IF_ERROR(CheckNames(output.parameters(), "output \"attention\"", {"kind", "layer", "head"}));
  // Returns the parameters (of the output or of the request) that contain `name`, and the name that errors use for this
  // parameter.
  const auto place = [&](const std::string& name) -> std::pair<const InferParameters&, std::string> {
    if (output.parameters().contains(name)) return {output.parameters(), name};
    return {request, kAttentionPrefix + name};
  };
  v1::AttentionRequest requested;
  const auto [of_kind, kind_name] = place("kind");
  ASSIGN_OR_RETURN(const std::optional<std::string> name, Text(of_kind, kind_name));
  const std::optional<v1::AttentionKind> kind = name.has_value() ? KindOf(*name) : DefaultKind(ability);
  if (!kind.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("output \"attention\" needs the parameter kind: ", absl::StrJoin(AttentionKindNames(), ", "),
                     name.has_value() ? absl::StrCat("; it is \"", Shown(*name), "\"") : ""));
  }
  requested.set_kind(*kind);
  requested.set_encoding(v1::FLOAT32);
  for (const auto& [parameter, field] :
       {std::pair("layer", requested.mutable_layers()), std::pair("head", requested.mutable_heads())}) {
    const auto [parameters, shown] = place(parameter);
    ASSIGN_OR_RETURN(const std::optional<int64_t> number, WholeNumber(parameters, shown));
    if (!number.has_value()) continue;
    if (*number < INT32_MIN || *number > INT32_MAX) {
      return absl::InvalidArgumentError(absl::StrCat("parameter \"", shown, "\" is ", *number, "; no model has that"));
    }
    field->Add(static_cast<int32_t>(*number));
  }
  return requested;
}

// Returns the requested feature; if the output names no feature, the model's first feature other than patch tokens.
absl::StatusOr<v1::FeatureRequest> FeatureOf(const OutputTensor& output, const FeatureAbility& ability) {
  RETURN_IF_ERROR(CheckNames(output.parameters(), "output \"embedding\"", {"kind", "normalize", "binary_data"}));
  ASSIGN_OR_RETURN(const std::optional<std::string> name, Text(output.parameters(), "kind"));
  ASSIGN_OR_RETURN(const std::optional<bool> normalize, Truth(output.parameters(), "normalize"));
  std::vector<std::string> vectors;
  v1::FeatureRequest requested;
  for (const v1::FeatureKind kind : ability.kinds) {
    if (kind == v1::PATCH_TOKENS) continue;
    vectors.push_back(FeatureKindName(kind));
    const bool is_it = !name.has_value() || *name == vectors.back();
    if (is_it && requested.kind() == v1::FEATURE_KIND_UNSPECIFIED) requested.set_kind(kind);
  }
  if (requested.kind() == v1::FEATURE_KIND_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        absl::StrCat("an embedding", name.has_value() ? absl::StrCat(" of the kind \"", Shown(*name), "\"") : "",
                     " was requested; this model has ", vectors.empty() ? "none" : absl::StrJoin(vectors, " and ")));
  }
  requested.set_normalize(normalize.value_or(false));
  return requested;
}

// Adds one output to the plan, and the options of this output to `base`. Raises top_k to the number that the output
// needs.
absl::Status AddOutput(const ModelInferRequest& request, const OutputTensor& output, const PlannedModel& model,
                       int& top_k, v1::ClassifyRequest& base, InferPlan& plan) {
  if (std::any_of(plan.outputs.begin(), plan.outputs.end(),
                  [&](const auto& each) { return each.name == output.name(); })) {
    return absl::InvalidArgumentError(absl::StrCat("output \"", Shown(output.name()), "\" is requested twice"));
  }
  if (output.name() == kAttention) {
    ASSIGN_OR_RETURN(*base.add_attention(), AttentionOf(output, request.parameters(), model.attention));
    base.set_max_attention_bytes(kMostAttentionBytes);
    plan.outputs.push_back({.name = kAttention});
    return absl::OkStatus();
  }
  if (output.name() == kEmbedding) {
    ASSIGN_OR_RETURN(*base.add_features(), FeatureOf(output, model.features));
    base.set_max_attention_bytes(kMostAttentionBytes);
    plan.outputs.push_back({.name = kEmbedding});
    return absl::OkStatus();
  }
  const bool is_known = output.name() == kProbabilities || output.name() == kLogits || output.name() == kUnsure;
  if (model.classes == 0 && is_known) {
    return absl::FailedPreconditionError(absl::StrCat("output \"", output.name(),
                                                      "\" is requested, but this model has ", "no classes; request \"",
                                                      kEmbedding, "\" or \"", kAttention, "\""));
  }
  if (output.name() == kUnsure) {
    RETURN_IF_ERROR(CheckNames(output.parameters(), "output \"unsure\"", {"binary_data"}));
    top_k = std::max(top_k, 1);
    plan.outputs.push_back({.name = kUnsure});
    return absl::OkStatus();
  }
  if (!is_known) {
    return absl::InvalidArgumentError(
        absl::StrCat("output \"", Shown(output.name()), "\" is unknown; valid outputs are \"", kProbabilities, "\", \"",
                     kLogits, "\", \"", kUnsure, "\", \"", kEmbedding, "\" and \"", kAttention, "\""));
  }
  RETURN_IF_ERROR(CheckNames(output.parameters(), absl::StrCat("output \"", output.name(), "\""),
                             {"classification", "binary_data"}));
  ASSIGN_OR_RETURN(const int best, ClassificationOf(output, model.classes));
  top_k = std::max(top_k, best == 0 ? model.classes : best);
  plan.outputs.push_back({.name = output.name(), .classification = best});
  return absl::OkStatus();
}

absl::Status AddOutputs(ModelInferRequest& request, const PlannedModel& model, v1::ClassifyRequest& base,
                        InferPlan& plan) {
  if (request.outputs_size() > kMaxOutputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has ", request.outputs_size(), " outputs; at most ", kMaxOutputs, " are allowed"));
  }
  if (request.outputs().empty() && model.classes == 0) {
    request.add_outputs()->set_name(kEmbedding);
  } else if (request.outputs().empty()) {
    request.add_outputs()->set_name(kProbabilities);
    if (model.view == nullptr) request.add_outputs()->set_name(kLogits);
  }
  int top_k = 0;
  for (const OutputTensor& output : request.outputs()) {
    RETURN_IF_ERROR(AddOutput(request, output, model, top_k, base, plan));
  }
  for (const char* const parameter : kAttentionParameters) {
    if (base.attention().empty() && request.parameters().contains(parameter)) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter \"", parameter, "\" needs the output \"attention\", which is not requested"));
    }
  }
  if (top_k > 0) {
    base.set_top_k(top_k);
  } else {
    base.set_omit_predictions(true);
  }
  return absl::OkStatus();
}

}  // namespace

bool AsksForFinalMark(const ModelInferRequest& request) {
  const absl::StatusOr<std::optional<bool>> asked = Truth(request.parameters(), kEmptyFinalResponse);
  return asked.ok() && asked->value_or(false);
}

absl::StatusOr<v1::ClassifyRequest> EnvelopeOf(const ModelInferRequest& request) {
  RETURN_IF_ERROR(
      CheckNames(request.parameters(), "the request",
                 {"priority", "timeout", "sequence_id", "sequence_start", "sequence_end", "binary_data_output",
                  "attention_kind", "attention_layer", "attention_head", kEmptyFinalResponse}));
  RETURN_IF_ERROR(CheckSequence(request));
  RETURN_IF_ERROR(Truth(request.parameters(), kEmptyFinalResponse).status());
  ASSIGN_OR_RETURN(v1::ClassifyRequest envelope, AddressOf(request.model_name(), request.model_version()));
  envelope.set_request_id(request.id());
  RETURN_IF_ERROR(SetPriority(request, envelope));
  return envelope;
}

absl::StatusOr<absl::Duration> TimeoutOf(const ModelInferRequest& request) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> microseconds, WholeNumber(request.parameters(), "timeout"));
  if (microseconds.value_or(0) == 0) return absl::InfiniteDuration();
  if (*microseconds < 0 || *microseconds > absl::ToInt64Microseconds(kMaxTimeout)) {
    return absl::InvalidArgumentError(absl::StrCat("parameter \"timeout\" is ", *microseconds,
                                                   " microseconds; it must be 1 to ",
                                                   absl::ToInt64Microseconds(kMaxTimeout), ", or 0 for none"));
  }
  return absl::Microseconds(*microseconds);
}

absl::StatusOr<InferPlan> PlanInfer(ReceivedInfer request, const PlannedModel& model) {
  InferPlan plan;
  ASSIGN_OR_RETURN(v1::ClassifyRequest base, EnvelopeOf(request.message));
  RETURN_IF_ERROR(AddOutputs(request.message, model, base, plan));
  ASSIGN_OR_RETURN(plan.parts, SplitInput(request, model.view));
  for (ReceivedClassify& part : plan.parts) part.message.MergeFrom(base);
  return plan;
}

int64_t OutputBytes(const std::vector<RequestedOutput>& outputs, int classes, size_t longest_label) {
  // Bytes of a text "value:index:label" without its label: four bytes for the length, a value such as "-123.456789",
  // two ":" and the index.
  constexpr int64_t kTextBytes = 24;
  int64_t bytes = 0;
  for (const RequestedOutput& output : outputs) {
    if (output.name != kProbabilities && output.name != kLogits) continue;
    bytes += output.classification > 0 ? output.classification * (kTextBytes + static_cast<int64_t>(longest_label))
                                       : classes * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace vitrine
