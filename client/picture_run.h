// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_PICTURE_RUN_H_
#define VITRINE_CLIENT_PICTURE_RUN_H_

#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/client.h"
#include "imaging/geometry.h"

namespace vitrine {

// A model as a person names it: "NAME" or "NAME@VERSION".
struct ModelChoice {
  std::string name;  // empty: the only model that is ready
  std::optional<int64_t> version = std::nullopt;
  std::string label = {};  // of a version, as in NAME@canary; the server knows which that is; empty: none
};

// NAME, NAME@VERSION or NAME@LABEL. INVALID_ARGUMENT: an empty name, or what is neither a positive number nor a label.
absl::StatusOr<ModelChoice> ParseModelChoice(absl::string_view text);

// Asks for the version of the choice, if it names one.
void AskForVersion(const ModelChoice& choice, v1::ClassifyRequest& request);

// The chosen version in full. For a caller who may classify and not look it up: what an answer says of it, its name,
// version and weights. INVALID_ARGUMENT or NOT_FOUND where there is no single one.
absl::StatusOr<v1::ModelVersion> ChooseModel(Client& client, const ModelChoice& choice);
// True if a version is there in full.
bool IsLookedUp(const v1::ModelVersion& model);
// The labels of a model that cannot be looked up, from some twenty answers to a small picture.
absl::StatusOr<std::vector<std::string>> AskForLabels(Client& client, const ModelChoice& choice);

// Asks a server about pictures: reads them, sends what every request has in common with each, hands the answers on in
// the order of the paths. One picture goes as a unary call, several over one stream.
class PictureRun {
 public:
  // An answered picture: its number among the paths, the request without the picture, the picture's file, the answer.
  struct Answered {
    size_t index = 0;
    const v1::ClassifyRequest& asked;
    const std::string& encoded;  // as sent; empty where nothing is drawn
    const v1::ClassifyResponse& answer;
    const std::optional<Size>& sent_as;  // size of a picture that was made smaller first
  };
  struct Handlers {
    // Completes the request for one picture, given its file; an error refuses the picture. May be empty.
    std::function<absl::Status(const std::string& encoded, v1::ClassifyRequest& request)> prepare = {};
    // An error counts the picture as failed.
    std::function<absl::Status(const Answered& picture)> answered = {};
    // Hears of each picture that failed, those that were not tried because the server was lost included. May be empty.
    std::function<void(size_t index, const absl::Status& why)> failed = {};
  };

  // Everything must outlive the run. `errors` gets a line for each picture that failed, and one for each that the
  // server would refuse for its size and that was therefore made smaller.
  PictureRun(const std::vector<std::string>& paths, const ClientOptions& options, const v1::ClassifyRequest& request,
             const Handlers& handlers, std::ostream& errors)
      : paths_(paths), options_(options), request_(request), handlers_(handlers), errors_(errors) {}

  // Returns how many pictures failed, those counted that were not tried because the server was lost.
  int Run(Client& client);

 private:
  struct Waiting {
    std::string encoded;
    v1::ClassifyRequest asked;
    std::optional<Size> sent_as;
  };

  std::optional<absl::StatusOr<v1::ClassifyRequest>> Next();
  // The picture's bytes as the server takes them.
  absl::StatusOr<std::string> Read(const std::string& path, Waiting& waiting);
  void Fail(size_t index, const absl::Status& why);
  void Deliver(size_t index, const absl::StatusOr<v1::ClassifyResponse>& answer);

  const std::vector<std::string>& paths_;
  const ClientOptions& options_;
  const v1::ClassifyRequest& request_;
  const Handlers& handlers_;
  std::ostream& errors_;
  size_t taken_ = 0;
  std::deque<Waiting> waiting_;  // of the pictures without an answer; the file only where a drawing needs it
  int failed_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_PICTURE_RUN_H_
