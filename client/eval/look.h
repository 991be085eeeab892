// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_LOOK_H_
#define VITRINE_CLIENT_EVAL_LOOK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/eval/prediction.h"
#include "data/dataset.h"
#include "report/html.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Where pictures of an evaluation, and what the model made of them, can be had.
struct PictureSource {
  const Dataset* data = nullptr;  // null: there are no pictures
  Client* client = nullptr;       // null: no server to ask for attention
  const v1::ModelVersion* model = nullptr;
  std::string resolution = {};  // as EvaluationSettings has it
  // Becomes it true, nothing more is asked, and what was not answered counts as failed.
  const std::atomic<bool>* stop = nullptr;
  // Told after each answer, how many of how many there are.
  std::function<void(const std::string& what, int64_t done, int64_t all)> progress = {};

  bool Stopping() const { return stop != nullptr && *stop; }
  void Tell(const std::string& what, int64_t done, int64_t all) const {
    if (progress) progress(what, done, all);
  }
};

// A question for attention of that kind alone, to the version that answered, without a picture yet; of low priority.
v1::ClassifyRequest AttentionRequestFor(const PictureSource& source, v1::AttentionKind kind);

// Some pictures of a set, small enough for a page.
struct Looks {
  // A list for each prediction asked for: the picture, and what the model attends to in it. Empty or without attention
  // where something could not be had.
  std::vector<std::vector<PictureCard::Picture>> pictures = {};
  std::string attention = {};  // in words, "the class token's attention in the last layer, mean over heads"
  std::string fault = {};      // why pictures or attention are missing; empty: nothing is
};

// Asks the version that answered before, `model`, for the last layer of the kind of attention that shows best what it
// looks at: of the class query, of the class token, mean over queries, rollout. Without `model` only pictures are
// looked up. Nothing that fails is an error; `fault` tells.
Looks LookAt(const PictureSource& source, const std::vector<const Prediction*>& predictions);

// Up to `most` of `of`, evenly spread over it and always the same ones.
std::vector<int64_t> EvenlySpread(const std::vector<int64_t>& of, int64_t most);

// The wish of "224x224" or "224"; nullopt for an empty text.
std::optional<v1::ResolutionWish> ResolutionOf(const std::string& text);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_LOOK_H_
