// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_IMAGE_RUN_H_
#define VITRINE_CLIENT_COMMANDS_IMAGE_RUN_H_

#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/lib/client.h"
#include "common/imaging/geometry.h"

namespace vitrine {

// A model on the command line: "NAME", "NAME@VERSION" or "NAME@LABEL".
struct ModelChoice {
  std::string name;  // empty: the only model that is ready
  std::optional<int64_t> version = std::nullopt;
  std::string label = {};  // label of a version, as in NAME@canary; the server resolves it; empty: none
};

// Parses NAME, NAME@VERSION or NAME@LABEL. INVALID_ARGUMENT: the name is empty, or the text after "@" is neither a
// positive number nor a label.
absl::StatusOr<ModelChoice> ParseModelChoice(absl::string_view text);

// Sets the version or the label of the choice, if any, in the request.
void AskForVersion(const ModelChoice& choice, v1::ClassifyRequest& request);

// Returns the chosen version with all fields. If this client may not call the Registry, classifies a small image and
// returns only name, version and weights from the answer. INVALID_ARGUMENT: no name, and several models are ready.
// NOT_FOUND: there is no such model, or no model is ready. PERMISSION_DENIED: no name, and no access to the Registry.
absl::StatusOr<v1::ModelVersion> ChooseModel(Client& client, const ModelChoice& choice);
// Returns true if `model` came from the Registry. If it is not ready, it may have only name, version, state and reason.
bool IsLookedUp(const v1::ModelVersion& model);
// Checks that the outputs of `model` are known. UNAVAILABLE: `model` is loading. FAILED_PRECONDITION: `model` failed.
absl::Status CheckLoaded(const v1::ModelVersion& model);
// Finds the labels of a model without the Registry, from an answer with all predictions. Needs about twenty requests to
// find the largest top_k that the server accepts, which is the number of classes.
absl::StatusOr<std::vector<std::string>> ProbeLabels(Client& client, const ModelChoice& choice);

// Prints "vitrine: 1200 of 10000 images" at most every ten seconds, for commands that print their results at the end.
class ImageCount {
 public:
  ImageCount(size_t images, std::ostream& errors) : images_(images), errors_(errors) {}
  // Prints the line if it is due. `done` is the number of images whose results have arrived.
  void Update(size_t done);

 private:
  const size_t images_;
  std::ostream& errors_;
  absl::Time printed_ = absl::Now();
};

// Sends images to a server. Reads each image, sends it in a copy of one request, and delivers the answers in the order
// of the paths. One image is sent as a unary call, several over one stream.
class ImageRun {
 public:
  // An answered image: index of its path, the request without the image, the image file, the answer.
  struct Answered {
    size_t index = 0;
    const v1::ClassifyRequest& asked;
    const std::string& encoded;  // the image file as sent; empty if nothing is drawn
    const v1::ClassifyResponse& answer;
    const std::optional<Size>& sent_as;  // size after reduction; nullopt: sent without reduction
  };
  struct Handlers {
    // Completes the request for one image file. If it returns an error, the image counts as failed. May be empty.
    std::function<absl::Status(const std::string& encoded, v1::ClassifyRequest& request)> prepare = {};
    // Called for each answered image. If it returns an error, the image counts as failed. RESOURCE_EXHAUSTED, such as
    // from a full disk, ends the run: no more images are sent, and all later images fail with this error.
    std::function<absl::Status(const Answered& image)> answered = {};
    // Called for each failed image, including images that were not sent (see Run). May be empty.
    std::function<void(size_t index, const absl::Status& why)> failed = {};
  };

  // All arguments must outlive the run. `errors` gets a line for each failed image, and for each image that was reduced
  // because the server would reject its size. If the run ends early, the images without a result share one line.
  ImageRun(const std::vector<std::string>& paths, const ClientOptions& options, const v1::ClassifyRequest& request,
           const Handlers& handlers, std::ostream& errors)
      : paths_(paths), options_(options), request_(request), handlers_(handlers), errors_(errors) {}

  // Returns the number of failed images, including images that were not sent because the server was lost or the run
  // ended.
  int Run(Client& client);
  // Returns true if a handler ended the run.
  bool ended() const { return !ended_.ok(); }

 private:
  struct Waiting {
    std::string encoded;
    v1::ClassifyRequest asked;
    std::optional<Size> sent_as;
  };

  std::optional<absl::StatusOr<v1::ClassifyRequest>> Next();
  // Returns the image's bytes in a form that the server accepts.
  absl::StatusOr<std::string> Read(const std::string& path, Waiting& waiting);
  void End(size_t index, const absl::Status& why);
  void Fail(size_t index, const absl::Status& why);
  void Deliver(size_t index, const absl::StatusOr<v1::ClassifyResponse>& answer);

  const std::vector<std::string>& paths_;
  const ClientOptions& options_;
  const v1::ClassifyRequest& request_;
  const Handlers& handlers_;
  std::ostream& errors_;
  size_t taken_ = 0;
  std::deque<Waiting> waiting_;  // images not answered yet; the file is kept only if a drawing needs it
  int failed_ = 0;
  absl::Status ended_;  // error of the handler that ended the run
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_IMAGE_RUN_H_
