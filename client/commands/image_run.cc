// SPDX-License-Identifier: Apache-2.0
#include "client/commands/image_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/commands/images.h"
#include "client/commands/output/text.h"
#include "client/load/workload/workload.h"
#include "common/imaging/fit_image.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Maximum size of an image file. May be larger than a request, because large images are reduced before sending.
constexpr int64_t kLargestFile = int64_t{512} << 20;
// Bytes of a request that are reserved for its id and for the length field of the image.
constexpr int64_t kRoomInRequest = 64;

absl::StatusOr<std::string> OnlyReadyModel(Client& client) {
  const absl::StatusOr<v1::ListModelsResponse> listed = client.ListModels();
  if (absl::IsPermissionDenied(listed.status())) {
    return absl::PermissionDeniedError(absl::StrCat(listed.status().message(), "; name the model with --model"));
  }
  RETURN_IF_ERROR(listed.status());
  const v1::ListModelsResponse& list = *listed;
  std::vector<std::string> ready;
  for (const v1::ModelVersion& version : list.versions()) {
    if (version.state() == v1::READY) ready.push_back(version.model());
  }
  ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
  if (ready.size() == 1) return ready.front();
  if (ready.empty()) return absl::NotFoundError("the server has no ready model; see vitrine models");
  return absl::InvalidArgumentError(
      absl::StrCat("the server has several models; choose one with --model: ", absl::StrJoin(ready, ", ")));
}

// Sends a generated image; the answer names the version that served it. `top_k` 0: without predictions.
absl::StatusOr<v1::ClassifyResponse> AskOnce(Client& client, const ModelChoice& choice, int top_k) {
  constexpr int kSide = 64;
  v1::ClassifyRequest request;
  request.set_model(choice.name);
  AskForVersion(choice, request);
  if (top_k > 0) request.set_top_k(top_k);
  request.set_omit_predictions(top_k == 0);
  request.set_image(MadeImage(kSide));
  return client.Classify(request);
}

}  // namespace

absl::StatusOr<ModelChoice> ParseModelChoice(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('@', 1));
  ModelChoice choice{.name = std::string(parts[0])};
  if (choice.name.empty()) return absl::InvalidArgumentError("a model must be NAME, NAME@VERSION or NAME@LABEL");
  if (parts.size() < 2) return choice;
  int64_t version = 0;
  const bool number = absl::SimpleAtoi(parts[1], &version);
  if (number && version >= 1) {
    choice.version = version;
    return choice;
  }
  constexpr size_t kLongestLabel = 32;
  const bool plain = std::all_of(parts[1].begin(), parts[1].end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (number || !plain || parts[1].empty() || parts[1].size() > kLongestLabel) {
    return absl::InvalidArgumentError(absl::StrCat("\"", parts[1],
                                                   "\" is no version; versions are positive numbers, "
                                                   "as in NAME@3, or labels of a-z 0-9 _ -, as in NAME@canary"));
  }
  choice.label = std::string(parts[1]);
  return choice;
}

void AskForVersion(const ModelChoice& choice, v1::ClassifyRequest& request) {
  if (choice.version.has_value()) request.set_version(*choice.version);
  if (!choice.label.empty()) request.set_version_label(choice.label);
}

absl::StatusOr<v1::ModelVersion> ChooseModel(Client& client, const ModelChoice& choice) {
  v1::GetModelRequest request;
  request.set_model(choice.name);
  if (choice.name.empty()) {
    ASSIGN_OR_RETURN(*request.mutable_model(), OnlyReadyModel(client));
  }
  if (choice.version.has_value()) request.set_version(*choice.version);
  request.set_version_label(choice.label);
  absl::StatusOr<v1::ModelVersion> model = client.GetModel(request);
  if (!absl::IsPermissionDenied(model.status())) return model;
  ASSIGN_OR_RETURN(const v1::ClassifyResponse answer, AskOnce(client, choice, 0));
  v1::ModelVersion served;
  served.set_model(answer.served_by().model());
  served.set_version(answer.served_by().version());
  served.set_weights_sha256(answer.served_by().weights_sha256());
  served.set_state(v1::READY);
  return served;
}

bool IsLookedUp(const v1::ModelVersion& model) {
  return model.state() != v1::READY || model.has_config() || model.parameters() > 0 || model.labels_size() > 0 ||
         model.attention_kinds_size() > 0 || model.feature_kinds_size() > 0;
}

absl::Status CheckLoaded(const v1::ModelVersion& model) {
  const std::string name = absl::StrCat("model \"", model.model(), "\" version ", model.version());
  if (model.state() == v1::LOADING) return absl::UnavailableError(name + " is still loading; retry in a moment");
  if (model.state() != v1::FAILED) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(name, " failed to load: ", model.reason()));
}

absl::StatusOr<std::vector<std::string>> ProbeLabels(Client& client, const ModelChoice& choice) {
  constexpr int kMostClasses = 100000;
  int known = 0, above = kMostClasses + 1;  // largest accepted and smallest rejected number of predictions
  std::vector<std::string> labels;
  while (known + 1 < above) {
    const int guesses = known == 0 && above > kMostClasses ? 10 : known + (above - known) / 2;
    const absl::StatusOr<v1::ClassifyResponse> answer = AskOnce(client, choice, guesses);
    if (absl::IsInvalidArgument(answer.status()) && guesses > 1) {
      above = guesses;
      continue;
    }
    RETURN_IF_ERROR(answer.status());
    known = guesses;
    labels.assign(static_cast<size_t>(answer->predictions_size()), "");
    for (const v1::Prediction& guess : answer->predictions()) {
      if (static_cast<size_t>(guess.index()) < labels.size())
        labels[static_cast<size_t>(guess.index())] = guess.label();
    }
  }
  return labels;
}

void ImageCount::Update(size_t done) {
  const absl::Time now = absl::Now();
  if (now - printed_ < absl::Seconds(10)) return;
  printed_ = now;
  errors_ << "vitrine: " << done << " of " << images_ << " images" << std::endl;
}

int ImageRun::Run(Client& client) {
  const RequestSource next = [this] { return Next(); };
  const ResultSink deliver = [this](size_t index, const absl::StatusOr<v1::ClassifyResponse>& answer) {
    Deliver(index, answer);
  };
  if (paths_.size() == 1) {
    const auto request = next();
    deliver(0, request->ok() ? client.Classify(**request) : request->status());
  } else if (const absl::Status lost = client.ClassifyMany(next, deliver); !lost.ok() && taken_ < paths_.size()) {
    errors_ << "vitrine: " << Printable(lost.message()) << "; " << paths_.size() - taken_
            << " more images were not tried\n";
    for (size_t index = taken_; index < paths_.size(); ++index) Fail(index, lost);
  } else if (ended()) {
    for (size_t index = taken_; index < paths_.size(); ++index) Fail(index, ended_);
  }
  return failed_;
}

absl::StatusOr<std::string> ImageRun::Read(const std::string& path, Waiting& waiting) {
  ASSIGN_OR_RETURN(std::string bytes, ReadImage(path, kLargestFile));
  FitLimits limits;
  limits.max_bytes = options_.max_request_bytes - static_cast<int64_t>(request_.ByteSizeLong()) - kRoomInRequest;
  ASSIGN_OR_RETURN(std::optional<FittedImage> fitted, FitImage(bytes, limits));
  if (!fitted.has_value()) return bytes;
  errors_ << "vitrine: " << Printable(path) << ": " << fitted->Note() << std::endl;
  waiting.sent_as = fitted->after;
  return std::move(fitted->encoded);
}

std::optional<absl::StatusOr<v1::ClassifyRequest>> ImageRun::Next() {
  if (ended() || taken_ == paths_.size()) return std::nullopt;
  Waiting& waiting = waiting_.emplace_back();
  absl::StatusOr<std::string> bytes = Read(paths_[taken_++], waiting);
  if (!bytes.ok()) return bytes.status();
  v1::ClassifyRequest request = request_;
  if (handlers_.prepare) {
    if (absl::Status status = handlers_.prepare(*bytes, request); !status.ok()) return status;
  }
  waiting.asked = request;
  if (request.attention_size() > 0) waiting.encoded = *bytes;
  request.set_image(*std::move(bytes));
  return request;
}

void ImageRun::Deliver(size_t index, const absl::StatusOr<v1::ClassifyResponse>& answer) {
  absl::Status status = ended() ? ended_ : answer.status();
  if (status.ok()) {
    const Waiting& waiting = waiting_.front();
    status = handlers_.answered({index, waiting.asked, waiting.encoded, *answer, waiting.sent_as});
    if (absl::IsResourceExhausted(status)) End(index, status);
  }
  waiting_.pop_front();
  if (status.ok()) return;
  if (!ended()) {
    errors_ << "vitrine: " << Printable(paths_[index]) << ": " << Printable(status.message()) << std::endl;
  }
  Fail(index, status);
}

void ImageRun::End(size_t index, const absl::Status& why) {
  ended_ = why;
  const size_t more = paths_.size() - index - 1;
  errors_ << "vitrine: " << Printable(paths_[index]) << ": " << Printable(why.message())
          << (more > 0 ? absl::StrCat("; the run ends here, ", more, " more images have no result") : "") << std::endl;
}

void ImageRun::Fail(size_t index, const absl::Status& why) {
  ++failed_;
  if (handlers_.failed) handlers_.failed(index, why);
}

}  // namespace vitrine
