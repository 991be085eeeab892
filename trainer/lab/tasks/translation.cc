// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/translation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "trainer/lab/data/parallel_text.h"
#include "trainer/lab/tasks/decode.h"
#include "trainer/lab/tasks/sequence_base.h"

namespace vitrine {
namespace {

using Ids = std::vector<int64_t>;

// Sentence pairs of a split, as ids with kBegin and kEnd.
struct EncodedPairs {
  std::vector<Ids> source, target;
};

struct Corpus {
  WordVocabulary source_words, target_words;
  EncodedPairs train, validation, test;
};

// Returns the given rows of `sentences`, padded: [B, longest].
at::Tensor Padded(const std::vector<Ids>& sentences, const std::vector<int64_t>& rows) {
  size_t longest = 0;
  for (const int64_t row : rows) longest = std::max(longest, sentences[row].size());
  at::Tensor ids =
      at::full({static_cast<int64_t>(rows.size()), static_cast<int64_t>(longest)}, WordVocabulary::kPadding, at::kLong);
  int64_t* to = ids.mutable_data_ptr<int64_t>();
  for (const int64_t row : rows) {
    std::copy(sentences[row].begin(), sentences[row].end(), to);
    to += longest;
  }
  return ids;
}

class Translation : public SequenceTask {
 public:
  Translation(const v1::Recipe& recipe, const v1::SequenceConfig& config, Corpus corpus, std::string digest)
      : SequenceTask(recipe, config, static_cast<int64_t>(corpus.train.source.size()), std::move(digest)),
        corpus_(std::move(corpus)) {}

  std::string samples_in_words() const override { return "sentences"; }
  absl::StatusOr<TrainingBatch> MakeBatch(int64_t /*epoch*/, int64_t /*index*/,
                                          std::span<const Member> members) const override {
    std::vector<int64_t> rows;
    for (const Member& member : members) rows.push_back(member.sample);
    return Gather(corpus_.train, rows);
  }

 protected:
  double smoothing() const override { return recipe().sequence().translation().smoothing(); }
  int64_t MeasuredSamples(MeasuredSplit split) const override {
    return static_cast<int64_t>(PairsOf(split).source.size());
  }
  absl::StatusOr<TrainingBatch> MeasuredBatch(MeasuredSplit split, int64_t first, int64_t last) const override {
    std::vector<int64_t> rows;
    for (int64_t i = first; i < last; ++i) rows.push_back(i);
    return Gather(PairsOf(split), rows);
  }

  BatchLoss Compare(const SequenceModel& model, const TrainingBatch& batch, const ForwardContext& context,
                    double smoothing) const override {
    const at::Tensor logits = model.Forward(batch.sequences, context);  // [B, t, V]
    const at::Tensor words = batch.labels != WordVocabulary::kPadding;  // [B, t]
    const at::Tensor losses = SmoothedDivergence(logits, batch.labels, smoothing, WordVocabulary::kPadding);
    const at::Tensor right = (logits.argmax(-1) == batch.labels) & words;
    return {.loss = (losses * batch.targets).sum() / batch.samples,
            .correct = right.sum().item<int64_t>(),
            .predictions = words.sum().item<int64_t>()};
  }
  absl::Status MeasureMore(const SequenceModel& model, const TrainingBatch& batch, MeasureSums& sums) const override {
    // An answer is at most 50 words longer than its source, as in Vaswani et al. 2017.
    const int64_t most = std::min<int64_t>(batch.sequences.source.size(1) + 50, config().max_length() - 1);
    ASSIGN_OR_RETURN(const std::vector<Ids> answers,
                     GreedyDecode(model, batch.sequences.source, {WordVocabulary::kBegin, WordVocabulary::kEnd}, most));
    const at::Tensor labels = batch.labels.cpu().contiguous();
    for (int64_t i = 0; i < batch.samples; ++i) {
      const int64_t* label = labels.const_data_ptr<int64_t>() + i * labels.size(1);
      const std::span<const int64_t> reference(label, labels.size(1));
      sums.bleu.Add(corpus_.target_words.Decode(answers[i]), corpus_.target_words.Decode(reference));
    }
    return absl::OkStatus();
  }
  Score ScoreOf(const MeasureSums& sums) const override {
    Score score = AccuracyAndLoss(sums, /*loss_first=*/false);
    score.measures.insert(score.measures.begin(), {"bleu", sums.bleu.Bleu()});
    return score;
  }

 private:
  const EncodedPairs& PairsOf(MeasuredSplit split) const {
    return split == MeasuredSplit::kValidation && validates() ? corpus_.validation : corpus_.test;
  }

  // The inputs are the target ids except the last; the labels are the target ids except the first. `targets` [B, 1] has
  // the same weight for every sentence: the number of sentences in the batch, divided by the number of words in the
  // batch. With this weight, the mean over sentences is the mean over words, even if replicas share the batch.
  static TrainingBatch Gather(const EncodedPairs& pairs, const std::vector<int64_t>& rows) {
    TrainingBatch batch;
    batch.samples = static_cast<int64_t>(rows.size());
    batch.sequences.source = Padded(pairs.source, rows);
    const at::Tensor target = Padded(pairs.target, rows);
    batch.sequences.target = target.slice(1, 0, -1).contiguous();
    batch.labels = target.slice(1, 1).contiguous();
    int64_t words = 0;
    for (const int64_t row : rows) words += static_cast<int64_t>(pairs.target[row].size()) - 1;
    batch.targets = at::full({batch.samples, 1}, static_cast<double>(batch.samples) / static_cast<double>(words));
    return batch;
  }

  const Corpus corpus_;
};

EncodedPairs Encode(const SentencePairs& pairs, int from, const WordVocabulary& source, const WordVocabulary& target) {
  EncodedPairs encoded;
  for (const Sentence& sentence : pairs[from]) encoded.source.push_back(source.Encode(sentence));
  for (const Sentence& sentence : pairs[1 - from]) encoded.target.push_back(target.Encode(sentence));
  return encoded;
}

absl::StatusOr<ParallelText> ReadPairs(const v1::Recipe& recipe, const std::string& data) {
  ASSIGN_OR_RETURN(const DataPlace place, FindData(recipe, data, {"parallel", "generated"}));
  if (place.kind == "parallel") return ReadParallelText(place.where);
  RETURN_IF_ERROR(CheckGenerated(recipe, data, "generated:numbers"));
  return NumberTranslations();
}

// Returns the maximum number of words in a vocabulary, without the special tokens.
absl::StatusOr<int64_t> MostWords(const v1::Recipe& recipe, int model_vocabulary) {
  const int64_t fit = model_vocabulary - WordVocabulary::kMarks;
  const int64_t asked = recipe.sequence().translation().most_words();
  if (asked > 0 && asked <= fit) return asked;
  if (asked == 0 && fit > 0) return std::min<int64_t>(fit, 10'000);
  return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": sequence.translation.most_words is ",
                                                 asked, ", the model has a ", "vocabulary of ", model_vocabulary,
                                                 ", of which marks take ", int64_t{WordVocabulary::kMarks}));
}

absl::Status CheckSettings(const v1::Recipe& recipe, const v1::SequenceConfig& config) {
  const std::string name = absl::StrCat("recipe \"", recipe.name(), "\": ");
  RETURN_IF_ERROR(
      CheckField(recipe, "sequence.translation.smoothing", recipe.sequence().translation().smoothing(), 0, 0.99));
  if (recipe.label_smoothing() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "label_smoothing is set; a translation has sequence.translation.smoothing instead"));
  }
  if (!config.has_pair()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, recipe.sequence().model(), " does not translate; use a row translation-*"));
  }
  if (config.pair().has_padding() && config.pair().padding() == WordVocabulary::kPadding) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, "the model's pair.padding must be ", int64_t{WordVocabulary::kPadding}, ", the id of <pad>"));
}

absl::Status CheckLengths(const v1::Recipe& recipe, const v1::SequenceConfig& config, std::string_view split,
                          const EncodedPairs& pairs) {
  for (const std::vector<Ids>* sentences : {&pairs.source, &pairs.target}) {
    for (size_t i = 0; i < sentences->size(); ++i) {
      if (static_cast<int64_t>((*sentences)[i].size()) <= config.max_length()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("recipe \"", recipe.name(), "\": sentence ", i + 1, " of ", std::string(split), " has ",
                       (*sentences)[i].size() - 2, " words, the maximum of the model is ", config.max_length() - 2,
                       "; remove it, or --set sequence.model_overrides.max_length=", (*sentences)[i].size()));
    }
  }
  return absl::OkStatus();
}

std::string DigestOf(const EncodedPairs& pairs) {
  std::string text;
  for (const std::vector<Ids>* sentences : {&pairs.source, &pairs.target}) {
    for (const Ids& ids : *sentences) absl::StrAppend(&text, absl::StrJoin(ids, " "), "\n");
  }
  return Sha256Hex(text);
}

}  // namespace

at::Tensor SmoothedDivergence(const at::Tensor& logits, const at::Tensor& labels, double smoothing, int64_t padding) {
  const at::Tensor log_q = at::log_softmax(logits, -1, at::kFloat);
  const at::Tensor of_label = log_q.gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  at::Tensor divergence = -of_label;
  if (smoothing > 0) {
    // With s for `smoothing`, the target p is 1 - s at the label, 0 at padding and e = s / (V - 2) elsewhere:
    // sum p (log p - log q) = (1 - s) log(1 - s) + s log e - (1 - s - e) log q_label - e (sum log q - log q_padding)
    const double rest = smoothing / static_cast<double>(logits.size(-1) - 2);
    const double entropy = (1 - smoothing) * std::log(1 - smoothing) + smoothing * std::log(rest);
    divergence = entropy - (1 - smoothing - rest) * of_label - rest * (log_q.sum(-1) - log_q.select(-1, padding));
  }
  return divergence.masked_fill(labels == padding, 0);
}

absl::StatusOr<std::unique_ptr<Task>> MakeTranslationTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                          const std::string& data) {
  RETURN_IF_ERROR(CheckSettings(recipe, config));
  ASSIGN_OR_RETURN(const int64_t source_most, MostWords(recipe, config.pair().source_vocabulary()));
  ASSIGN_OR_RETURN(const int64_t target_most, MostWords(recipe, config.pair().target_vocabulary()));
  ASSIGN_OR_RETURN(const ParallelText text, ReadPairs(recipe, data));
  const int from = recipe.sequence().translation().reversed() ? 1 : 0;
  const WordVocabulary source(text.train[from], source_most), target(text.train[1 - from], target_most);
  Corpus corpus{.source_words = source,
                .target_words = target,
                .train = Encode(text.train, from, source, target),
                .validation = Encode(text.validation, from, source, target),
                .test = Encode(text.test, from, source, target)};
  RETURN_IF_ERROR(CheckLengths(recipe, config, "train", corpus.train));
  RETURN_IF_ERROR(CheckLengths(recipe, config, "val", corpus.validation));
  RETURN_IF_ERROR(CheckLengths(recipe, config, "test", corpus.test));
  std::string digest = DigestOf(corpus.train);
  return std::make_unique<Translation>(recipe, config, std::move(corpus), std::move(digest));
}

}  // namespace vitrine
