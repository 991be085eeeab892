// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/language.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/file.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "trainer/lab/data/number_words.h"
#include "trainer/lab/data/text.h"
#include "trainer/lab/tasks/sequence_base.h"

namespace vitrine {
namespace {

using Tokens = std::vector<int64_t>;

struct LanguageSplits {
  Tokens train, validation, test;  // validation may be empty
};

struct Windows {
  int64_t context = 0;
  int64_t samples = 0;  // windows per epoch
  bool random = false;  // true: windows at new random places in each epoch; false: consecutive windows
};

// Returns the number of consecutive windows of `context` tokens. The token after a window must exist, because it is the
// label of the window's last token.
int64_t WindowsOf(const Tokens& tokens, int64_t context) {
  return (static_cast<int64_t>(tokens.size()) - 1) / context;
}

class Language : public SequenceTask {
 public:
  Language(const v1::Recipe& recipe, const v1::SequenceConfig& config, LanguageSplits splits, Windows windows,
           std::string digest)
      : SequenceTask(recipe, config, windows.samples, std::move(digest)),
        splits_(std::move(splits)),
        windows_(windows) {}

  absl::StatusOr<TrainingBatch> MakeBatch(int64_t epoch, int64_t /*index*/,
                                          std::span<const Member> members) const override {
    const int64_t starts = static_cast<int64_t>(splits_.train.size()) - windows_.context;
    std::vector<int64_t> begins;
    for (const Member& member : members) {
      begins.push_back(windows_.random
                           ? RandomFor(recipe().seed(), Stream::kWindows, epoch, member.sample).Below(starts)
                           : member.sample * windows_.context);
    }
    return Cut(splits_.train, begins);
  }

 protected:
  int64_t MeasuredSamples(MeasuredSplit split) const override { return WindowsOf(TokensOf(split), windows_.context); }
  absl::StatusOr<TrainingBatch> MeasuredBatch(MeasuredSplit split, int64_t first, int64_t last) const override {
    std::vector<int64_t> begins;
    for (int64_t i = first; i < last; ++i) begins.push_back(i * windows_.context);
    return Cut(TokensOf(split), begins);
  }
  BatchLoss Compare(const SequenceModel& model, const TrainingBatch& batch, const ForwardContext& context,
                    double smoothing) const override {
    return ElementLoss(model.Forward(batch.sequences, context), batch.labels, smoothing);
  }
  Score ScoreOf(const MeasureSums& sums) const override {
    Score score = AccuracyAndLoss(sums, /*loss_first=*/true);
    score.measures.push_back({"perplexity", std::exp(score.measures.front().value)});
    return score;
  }

 private:
  const Tokens& TokensOf(MeasuredSplit split) const {
    return split == MeasuredSplit::kValidation && !splits_.validation.empty() ? splits_.validation : splits_.test;
  }

  // Cuts windows that begin at `begins`. The label of each token is the next token.
  TrainingBatch Cut(const Tokens& tokens, const std::vector<int64_t>& begins) const {
    const int64_t context = windows_.context;
    TrainingBatch batch;
    batch.samples = static_cast<int64_t>(begins.size());
    batch.sequences.source = at::empty({batch.samples, context}, at::kLong);
    batch.labels = at::empty({batch.samples, context}, at::kLong);
    int64_t* source = batch.sequences.source.mutable_data_ptr<int64_t>();
    int64_t* label = batch.labels.mutable_data_ptr<int64_t>();
    for (const int64_t begin : begins) {
      source = std::copy_n(tokens.begin() + begin, context, source);
      label = std::copy_n(tokens.begin() + begin + 1, context, label);
    }
    return batch;
  }

  const LanguageSplits splits_;
  const Windows windows_;
};

absl::StatusOr<EncodedText> ReadTokens(const v1::Recipe& recipe, const std::string& data) {
  if (recipe.sequence().language().text() == v1::LanguageExperiment::NUMBER_WORDS) {
    RETURN_IF_ERROR(CheckGenerated(recipe, data, "generated:numbers"));
    return EncodeTokens(NumberWords());
  }
  ASSIGN_OR_RETURN(const DataPlace place, FindData(recipe, data, {"text", "generated"}));
  std::string text;
  if (place.kind == "text") {
    ASSIGN_OR_RETURN(text, ReadWholeFile(place.where));
  } else {
    RETURN_IF_ERROR(CheckGenerated(recipe, data, "generated:numbers"));
    text = absl::StrJoin(NumberWords(), " ");
  }
  const auto characters = CharactersOf(text);
  if (characters.ok()) return EncodeTokens(*characters);
  return absl::InvalidArgumentError(absl::StrCat(place.where, ": ", characters.status().message()));
}

absl::Status CheckModel(const v1::Recipe& recipe, const v1::SequenceConfig& config, const EncodedText& text) {
  const std::string recipe_model = absl::StrCat("recipe \"", recipe.name(), "\": ", recipe.sequence().model());
  if (!config.has_tokens() || !config.causal() || SequenceOutputs(config) != config.tokens().vocabulary()) {
    return absl::InvalidArgumentError(
        absl::StrCat(recipe_model, " does not predict the next token; use a row characters-* or ", "numbers-*"));
  }
  if (static_cast<int64_t>(text.vocabulary.size()) <= config.tokens().vocabulary()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      recipe_model, " has a vocabulary of ", config.tokens().vocabulary(), ", the text has ", text.vocabulary.size(),
      " different tokens; --set sequence.model_overrides.tokens.vocabulary=", text.vocabulary.size()));
}

absl::StatusOr<LanguageSplits> SplitTokens(const v1::Recipe& recipe, const Tokens& tokens, int64_t context) {
  const double share = recipe.sequence().language().test_share();
  RETURN_IF_ERROR(CheckField(recipe, "sequence.language.test_share", share, 0, 0.99));
  const auto cut = [](int64_t size, double part) { return size - static_cast<int64_t>(std::lround(part * size)); };
  const int64_t test_begin = cut(static_cast<int64_t>(tokens.size()), share == 0 ? 0.2 : share);
  const int64_t validation_begin = cut(test_begin, recipe.validation_share());
  LanguageSplits splits{.train = {tokens.begin(), tokens.begin() + validation_begin},
                        .validation = {tokens.begin() + validation_begin, tokens.begin() + test_begin},
                        .test = {tokens.begin() + test_begin, tokens.end()}};
  for (const Tokens* part : {&splits.train, &splits.validation, &splits.test}) {
    const bool unused = part == &splits.validation && recipe.validation_share() == 0;
    if (static_cast<int64_t>(part->size()) > context || unused) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("recipe \"", recipe.name(), "\": of ", tokens.size(), " tokens, ", splits.train.size(),
                     " are for training, ", splits.validation.size(), " for validation and ", splits.test.size(),
                     " for the test; each split needs more than ", "sequence.language.context, which is ", context));
  }
  return splits;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Task>> MakeLanguageTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                       const std::string& data) {
  const v1::LanguageExperiment& experiment = recipe.sequence().language();
  if (experiment.text() != v1::LanguageExperiment::CHARACTERS &&
      experiment.text() != v1::LanguageExperiment::NUMBER_WORDS) {
    return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": sequence.language.text is ",
                                                   experiment.text() == 0 ? "missing" : "unknown",
                                                   "; it must be CHARACTERS or NUMBER_WORDS"));
  }
  RETURN_IF_ERROR(CheckField(recipe, "sequence.language.context", experiment.context(), 1, config.max_length()));
  RETURN_IF_ERROR(CheckField(recipe, "sequence.language.samples", experiment.samples(), 0, 1e9));
  ASSIGN_OR_RETURN(const EncodedText text, ReadTokens(recipe, data));
  RETURN_IF_ERROR(CheckModel(recipe, config, text));
  ASSIGN_OR_RETURN(LanguageSplits splits, SplitTokens(recipe, text.ids, experiment.context()));
  const Windows windows{
      .context = experiment.context(),
      .samples = experiment.samples() > 0 ? experiment.samples() : WindowsOf(splits.train, experiment.context()),
      .random = experiment.samples() > 0};
  std::string digest = Sha256Hex(absl::StrCat(absl::StrJoin(text.vocabulary, "\t"), "\n",
                                              absl::StrJoin(splits.train, " "), "\n", windows.context));
  return std::make_unique<Language>(recipe, config, std::move(splits), windows, std::move(digest));
}

}  // namespace vitrine
