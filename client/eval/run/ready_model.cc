// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/ready_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands/output/text.h"
#include "client/lib/channel.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kNap = absl::Milliseconds(100);

bool Stopping(const std::atomic<bool>* stop) {
  return stop != nullptr && *stop;
}

// Returns true if the server has the model but is still loading it.
bool IsLoading(Client& client, const ModelChoice& choice) {
  const absl::StatusOr<v1::ListModelsResponse> all = client.ListModels();
  return all.ok() && std::any_of(all->versions().begin(), all->versions().end(), [&](const v1::ModelVersion& version) {
           return version.state() == v1::LOADING && (choice.name.empty() || choice.name == version.model()) &&
                  choice.version.value_or(version.version()) == version.version();
         });
}

// Returns the model if it is ready. UNAVAILABLE: it is not ready, but may become so.
absl::StatusOr<v1::ModelVersion> ReadyModel(Client& client, const ModelChoice& choice) {
  absl::StatusOr<v1::ModelVersion> model = ChooseModel(client, choice);
  if (!model.ok()) {
    if (absl::IsUnavailable(model.status()) || !IsLoading(client, choice)) return model;
    return absl::UnavailableError(absl::StrCat(choice.name.empty() ? "the model" : choice.name, " is being loaded"));
  }
  if (model->state() == v1::READY) return model;
  const std::string name = absl::StrCat(model->model(), "@", model->version());
  if (model->state() == v1::LOADING) return absl::UnavailableError(absl::StrCat(name, " is being loaded"));
  return absl::FailedPreconditionError(absl::StrCat(name, " is not ready; see vitrine models"));
}

// Adds the labels to `model`. Used if the client may not look up models; ProbeLabels then finds the labels by
// classifying.
absl::Status AddLabels(Client& client, v1::ModelVersion& model) {
  ASSIGN_OR_RETURN(const std::vector<std::string> known,
                   ProbeLabels(client, {.name = model.model(), .version = model.version()}));
  model.mutable_labels()->Add(known.begin(), known.end());
  model.mutable_config()->set_classes(static_cast<int>(known.size()));
  return absl::OkStatus();
}

// Connects, with retries until the connect timeout, because a starting server does not listen yet. Prints the cause of
// the first failure. A lasting fault of TLS ends the attempts.
absl::StatusOr<std::unique_ptr<Client>> ConnectPatiently(ClientOptions options, ProgressDisplay& display,
                                                         const std::atomic<bool>* stop) {
  const absl::Time end = absl::Now() + options.connect_timeout;
  for (bool said = false;; said = true) {
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(options);
    const absl::Duration left = end - absl::Now();
    if (!absl::IsUnavailable(client.status()) || IsLasting(client.status()) || left <= kNap || Stopping(stop)) {
      return client;
    }
    if (!said) {
      display.Line(absl::StrCat("vitrine: ", Printable(client.status().message()), "; trying for ",
                                absl::FormatDuration(absl::Ceil(left, absl::Seconds(1)))));
    }
    absl::SleepFor(kNap);
    options.connect_timeout = left;
  }
}

}  // namespace

absl::StatusOr<std::pair<std::unique_ptr<Client>, v1::ModelVersion>> AwaitModel(const ClientOptions& options,
                                                                                const ModelChoice& choice,
                                                                                absl::Duration patience,
                                                                                ProgressDisplay& display,
                                                                                const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client, ConnectPatiently(options, display, stop));
  const absl::Time end = absl::Now() + patience;
  for (bool said = false;; said = true) {
    absl::StatusOr<v1::ModelVersion> model = ReadyModel(*client, choice);
    if (model.ok() && !IsLookedUp(*model)) RETURN_IF_ERROR(AddLabels(*client, *model));
    if (model.ok()) return std::pair(std::move(client), *std::move(model));
    if (!absl::IsUnavailable(model.status()) || absl::Now() >= end) return model.status();
    if (!said) {
      display.Line(absl::StrCat("vitrine: ", Printable(model.status().message()), "; waiting up to ",
                                absl::FormatDuration(patience)));
    }
    for (int naps = 0; naps < 5 && !Stopping(stop); ++naps) absl::SleepFor(kNap);
    if (Stopping(stop)) return absl::CancelledError("the run was stopped");
    if (auto again = Client::Connect(options); again.ok()) client = *std::move(again);
  }
}

}  // namespace vitrine
