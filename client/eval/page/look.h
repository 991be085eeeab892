// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PAGE_LOOK_H_
#define VITRINE_CLIENT_EVAL_PAGE_LOOK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/eval/prediction.h"
#include "client/lib/client.h"
#include "common/charts/html/html.h"
#include "common/data/dataset.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Source of an evaluation's images and attention maps.
struct ImageSource {
  const Dataset* data = nullptr;  // null: no images
  Client* client = nullptr;       // null: no attention
  const v1::ModelVersion* model = nullptr;
  std::string resolution = {};  // as in EvaluationSettings
  // Once true, no more requests are sent.
  const std::atomic<bool>* stop = nullptr;
  // Called after each answer with a description of the work, the number of answers so far, and the total.
  std::function<void(const std::string& what, int64_t done, int64_t all)> progress = {};

  bool Stopping() const { return stop != nullptr && *stop; }
  void Tell(const std::string& what, int64_t done, int64_t all) const {
    if (progress) progress(what, done, all);
  }
};

// Returns a request for attention of `kind` to the version source.model, without predictions and with low priority. The
// caller adds the image.
v1::ClassifyRequest AttentionRequestFor(const ImageSource& source, v1::AttentionKind kind);

// Images of a data set, small enough for a page.
struct Looks {
  // One list per prediction: the image and its attention, if available.
  std::vector<std::vector<ImageCard::Tile>> images = {};
  std::string attention = {};  // description: "the class token's attention in the last layer, mean over heads"
  std::string fault = {};      // reason why images or attention are missing; empty: nothing is missing
};

// Reads the images, and requests their attention in the last layer from the version source.model. Uses the first of
// these kinds that the model has: class attention, class token, mean over queries, rollout. If source.model is null,
// only reads the images. If something fails, returns the rest, and Looks::fault describes the first failure.
Looks LookAt(const ImageSource& source, const std::vector<const Prediction*>& predictions);

// Returns up to `most` elements of `of`, evenly spread.
std::vector<int64_t> EvenlySpread(const std::vector<int64_t>& of, int64_t most);

// Parses "224x224" or "224"; nullopt for any other text.
std::optional<v1::ResolutionWish> ResolutionOf(const std::string& text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PAGE_LOOK_H_
