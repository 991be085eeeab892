// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/company.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/gathered.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

constexpr size_t kFewImages = 4;

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void Append(std::span<const float> values, std::vector<float>& to) {
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

Company::Company(const EngineForm& form, cpu::CpuPath path, size_t images, const PrecisionChoice& choice)
    : compiled_(form.config, path, choice) {
  for (size_t i = 0; i < images; ++i) {
    const auto [height, width] = form.sizes[i % form.sizes.size()];
    images_.push_back(RandomImage(form.config.preprocessing().channels(), height, width, i));
  }
  for (size_t i = 0; i < images; ++i) {
    engine::Workspace workspace;
    alone_.push_back(Answers({i}, workspace, /*watched=*/0, /*tokens=*/true).front());
    alone_.back().logits = compiled_.ByEngine({images_[i]});
  }
}

// Runs a batch of images; `order` has their indices. Collects attention of the image at index `watched` of the batch
// (-1: no image) and, with `tokens`, the tokens of all images.
std::vector<Company::Answer> Company::Answers(const std::vector<size_t>& order, engine::Workspace& workspace,
                                              int watched, bool tokens) const {
  std::vector<engine::ImagePlanes> views;
  for (const size_t place : order) views.push_back(View(images_[place]));
  const std::vector<AttentionAbility::Offer> offers = compiled_.model->attention().offers;
  const int stages = static_cast<int>(compiled_.program->stages().size());
  AttentionTap attention;
  TokenTap token_tap;
  for (const AttentionAbility::Offer& offer : offers) {
    for (int layer = 0; layer < offer.layers; ++layer) attention.Request(watched, offer.source, layer);
  }
  for (int stage = TokenTap::kFinal; stage < stages; ++stage) token_tap.Request(stage);
  const size_t classes = static_cast<size_t>(compiled_.engine->plan().classes);
  std::vector<float> logits(order.size() * classes);
  compiled_.engine->Run(views, workspace, logits.data(), watched < 0 ? nullptr : &attention,
                        tokens ? &token_tap : nullptr);

  std::vector<Answer> answers(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    Append(std::span(logits).subspan(i * classes, classes), answers[i].logits);
    for (int stage = TokenTap::kFinal; stage < stages; ++stage) {
      const TokenTap::Tokens* const found = token_tap.Find(stage);
      if (found == nullptr) continue;
      const int image = static_cast<int>(i);
      const size_t width = static_cast<size_t>(found->data.shape[1]);
      Append(std::span(found->data.values)
                 .subspan(static_cast<size_t>(found->layout->offset(image)) * width,
                          static_cast<size_t>(found->layout->tokens(image)) * width),
             answers[i].tokens);
    }
  }
  if (watched < 0) return answers;
  for (const AttentionAbility::Offer& offer : offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      const AttentionTap::Matrices* const found = attention.Find(watched, offer.source, layer);
      if (found == nullptr) continue;
      for (const FloatArray* array : {&found->scores, &found->weights, &found->queries, &found->keys}) {
        Append(array->values, answers[static_cast<size_t>(watched)].attention);
      }
    }
  }
  return answers;
}

std::string Company::FirstDifference(const Trials& trials, bool reversed) const {
  std::mt19937 random(7);
  engine::Workspace workspace;
  for (int batch = 0; batch < trials.batches; ++batch) {
    std::vector<size_t> order(1 + random() % (batch % 8 == 0 ? trials.most_images : kFewImages));
    for (size_t& place : order) place = random() % images_.size();
    if (reversed) std::reverse(order.begin(), order.end());
    const bool tokens = batch % 4 == 3;
    const int watched = batch % 2 == 0 ? -1 : static_cast<int>(order.size()) / 2;
    std::optional<Gathered> gathered;
    if (batch % trials.team_every == 2) gathered.emplace(2 + batch / trials.team_every % 3);
    workspace.team = gathered.has_value() ? &gathered->team() : nullptr;
    const std::vector<Answer> answers = Answers(order, workspace, watched, tokens);
    for (size_t i = 0; i < order.size(); ++i) {
      const Answer& alone = alone_[order[i]];
      const char* what = nullptr;
      if (static_cast<int>(i) == watched && !SameBits(answers[i].attention, alone.attention)) what = "attention";
      if (tokens && !SameBits(answers[i].tokens, alone.tokens)) what = "tokens";
      if (!SameBits(answers[i].logits, alone.logits)) what = "logits";
      if (what != nullptr) return absl::StrCat(what, " of image ", i, " of ", order.size(), " in batch ", batch);
    }
  }
  return "";
}

void Company::ExpectChangesNothing(const Trials& trials) const {
  ASSERT_FALSE(alone_[0].tokens.empty());
  ASSERT_FALSE(alone_[0].attention.empty());
  ASSERT_NE(alone_[0].logits, alone_[1].logits) << "what is not computed is equal too";
  EXPECT_EQ(FirstDifference(trials, /*reversed=*/false), "");
  std::string as_drawn, in_reverse;
  std::thread other([&] { in_reverse = FirstDifference(trials, /*reversed=*/true); });
  as_drawn = FirstDifference(trials, /*reversed=*/false);
  other.join();
  EXPECT_EQ(as_drawn, "") << "beside another thread";
  EXPECT_EQ(in_reverse, "") << "beside another thread, in reverse";
}

}  // namespace vitrine::testing
