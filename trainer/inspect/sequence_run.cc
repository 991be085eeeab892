// SPDX-License-Identifier: Apache-2.0
#include "trainer/inspect/sequence_run.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/tensor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/file.h"
#include "common/status_macros.h"
#include "models/repository/files/safetensors.h"
#include "trainer/lab/data/number_words.h"
#include "trainer/lab/data/text.h"
#include "trainer/lab/tasks/decode.h"
#include "trainer/lab/tasks/sequence_base.h"
#include "trainer/lab/tasks/sequence_task.h"
#include "trainer/optimise/optimizer.h"
#include "trainer/optimise/trained.h"
#include "trainer/state.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

at::Tensor OneSequence(const std::vector<int64_t>& ids) {
  return at::tensor(ids, at::kLong).unsqueeze(0);
}

std::string Shown(const std::string& token) {
  if (token == " ") return "' '";
  return token == "\n" ? "\\n" : token == "\t" ? "\\t" : token == "\r" ? "\\r" : token;
}

// Returns the metadata of the last state, such as the recipe and the data's digest. If the last state is damaged,
// returns the metadata of the previous state.
absl::StatusOr<std::map<std::string, std::string>> StringsOfState(const fs::path& work_dir) {
  absl::Status fault;
  for (const fs::path& file : {StateFile(work_dir), PreviousStateFile(work_dir)}) {
    const absl::StatusOr<std::string> bytes = ReadWholeFile(file, int64_t{1} << 40);
    const absl::StatusOr<Safetensors> content = bytes.ok() ? ParseSafetensors(*bytes) : bytes.status();
    if (content.ok()) return content->metadata;
    fault.Update(absl::FailedPreconditionError(absl::StrCat(file.string(), ": ", content.status().message())));
  }
  if (HasState(work_dir)) {
    return absl::FailedPreconditionError(
        absl::StrCat(fault.message(), "; no state in it can be read: train it again in another folder"));
  }
  return absl::NotFoundError(
      absl::StrCat(work_dir.string(),
                   " has no state of a run; give the --work of `vitrine-train run`, which has one after the first ",
                   "epoch, or WORK/cells/NAME of a sweep"));
}

bool OfWords(const v1::LanguageExperiment& language) {
  return language.text() == v1::LanguageExperiment::NUMBER_WORDS;
}

// Returns all tokens of a language run's data. A token is a word or a character, as in the run's task.
absl::StatusOr<std::vector<std::string>> LanguageTokens(const v1::Recipe& recipe, const std::string& data) {
  if (OfWords(recipe.sequence().language())) return NumberWords();
  ASSIGN_OR_RETURN(const DataPlace place, FindData(recipe, data, {"text", "generated"}));
  if (place.kind == "generated") return CharactersOf(absl::StrJoin(NumberWords(), " "));
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(place.where));
  return CharactersOf(text);
}

absl::StatusOr<NamedSequence> ReadDigits(const std::string& text) {
  std::vector<int64_t> digits;
  for (const char c : text) {
    if (absl::ascii_isdigit(c)) digits.push_back(c - '0');
    if (absl::ascii_isdigit(c) || absl::ascii_isspace(c)) continue;
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a sequence of digits; write 3 1 4 or 314"));
  }
  return NamedSequence{{at::one_hot(OneSequence(digits), 10).to(at::kFloat), {}}};
}

}  // namespace

absl::StatusOr<SequenceRun> SequenceRun::Open(const fs::path& work_dir, const std::string& data) {
  ASSIGN_OR_RETURN(auto strings, StringsOfState(work_dir));
  SequenceRun run;
  if (!google::protobuf::TextFormat::ParseFromString(strings["recipe"], &run.recipe_)) {
    return absl::FailedPreconditionError(absl::StrCat(work_dir.string(), ": the state has no recipe"));
  }
  if (!run.recipe_.has_sequence()) {
    return absl::InvalidArgumentError(
        absl::StrCat(work_dir.string(), " is a run of \"", run.recipe_.name(),
                     "\", whose model reads images, not sequences; see its ",
                     "report.html, or publish it and use `vitrine classify --attention`"));
  }
  ASSIGN_OR_RETURN(run.task_, MakeSequenceTask(run.recipe_, data));
  if (run.task_->data_digest() != strings["data_digest"]) {
    return absl::InvalidArgumentError(absl::StrCat("--data ", data, " is not what ", work_dir.string(),
                                                   " was trained on; give the --data of that run"));
  }
  RETURN_IF_ERROR(run.LoadWeights(work_dir));
  RETURN_IF_ERROR(run.MakeVocabularies(data));
  return run;
}

absl::Status SequenceRun::LoadWeights(const fs::path& work_dir) {
  ASSIGN_OR_RETURN(module_, task_->MakeModel());
  std::unique_ptr<Module> average;
  if (recipe_.ema_decay() > 0) {
    ASSIGN_OR_RETURN(average, task_->MakeModel());
  }
  ASSIGN_OR_RETURN(std::vector<NamedTensor> trained, TrainedParameters(recipe_.optimizer(), *task_, *module_));
  const Optimizer optimizer(recipe_.optimizer(), std::move(trained));  // its moments are part of the state
  ASSIGN_OR_RETURN(const RunPosition position,
                   RestoreState(work_dir, {recipe_, task_->data_digest(), *module_, average.get(), optimizer}));
  weights_ = absl::StrCat(average ? "average, " : "", "step ", position.step);
  if (!position.last_fault.empty()) remark_ = absl::StrCat(position.last_fault, "; the state before it is used");
  if (average) module_ = std::move(average);
  if (recipe_.validation_share() == 0 || !position.best) return absl::OkStatus();
  weights_ = absl::StrCat("best, step ", position.best_step);
  return LoadBest(work_dir, *module_);
}

absl::Status SequenceRun::MakeVocabularies(const std::string& data) {
  if (recipe_.sequence().has_language()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> tokens, LanguageTokens(recipe_, data));
    vocabulary_ = EncodeTokens(tokens).vocabulary;
  }
  if (!recipe_.sequence().has_translation()) return absl::OkStatus();
  const v1::TranslationExperiment& translation = recipe_.sequence().translation();
  ASSIGN_OR_RETURN(const DataPlace place, FindData(recipe_, data, {"parallel", "generated"}));
  ASSIGN_OR_RETURN(const ParallelText text,
                   place.kind == "generated" ? NumberTranslations() : ReadParallelText(place.where));
  // Uses the same vocabulary sizes as the run's task, which has already validated these sizes.
  const auto most = [&](int model_vocabulary) {
    return translation.most_words() > 0 ? translation.most_words()
                                        : std::min<int64_t>(model_vocabulary - WordVocabulary::kMarks, 10'000);
  };
  const int from = translation.reversed() ? 1 : 0;
  source_.emplace(text.train[from], most(model().config().pair().source_vocabulary()));
  target_.emplace(text.train[1 - from], most(model().config().pair().target_vocabulary()));
  return absl::OkStatus();
}

absl::StatusOr<NamedSequence> SequenceRun::Read(const std::string& text) const {
  const v1::SequenceExperiment& sequence = recipe_.sequence();
  if (sequence.has_anomaly()) {
    return absl::InvalidArgumentError("a set of features cannot be given as text; use --sample");
  }
  std::vector<std::string> tokens = WordsOf(text);
  if (sequence.has_language() && !OfWords(sequence.language())) {
    ASSIGN_OR_RETURN(tokens, CharactersOf(text));
  }
  if (tokens.empty()) return absl::InvalidArgumentError("the text is empty");
  NamedSequence read;
  if (sequence.has_language()) {
    ASSIGN_OR_RETURN(read, ReadTokens(tokens));
  } else if (sequence.has_translation()) {
    read.batch = {OneSequence(source_->Encode(tokens)), OneSequence({WordVocabulary::kBegin})};
  } else {
    ASSIGN_OR_RETURN(read, ReadDigits(text));
  }
  RETURN_IF_ERROR(CheckBatch(model().config(), read.batch));
  read.batch.target = at::Tensor();
  NameElements(read);
  if (sequence.has_translation()) std::ranges::copy(tokens, read.source.begin() + 1);
  return read;
}

absl::StatusOr<NamedSequence> SequenceRun::ReadTokens(const std::vector<std::string>& tokens) const {
  std::vector<int64_t> ids;
  for (const std::string& token : tokens) {
    const auto found = std::ranges::lower_bound(vocabulary_, token);
    if (found == vocabulary_.end() || *found != token) {
      std::string known;
      for (const std::string& other : vocabulary_) absl::StrAppend(&known, " ", Shown(other));
      return absl::InvalidArgumentError(
          absl::StrCat("\"", Shown(token), "\" is not in the run's vocabulary, which is:", known));
    }
    ids.push_back(found - vocabulary_.begin());
  }
  return NamedSequence{{OneSequence(ids), {}}};
}

absl::StatusOr<NamedSequence> SequenceRun::Sample(int64_t sample) const {
  if (sample < 0 || sample >= task_->samples()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sample ", sample, " does not exist; the run has 0 to ", task_->samples() - 1));
  }
  ASSIGN_OR_RETURN(TrainingBatch batch, task_->MakeBatch(0, 0, std::vector<Member>{{.sample = sample}}));
  NamedSequence sequence{std::move(batch.sequences)};
  NameElements(sequence);
  if (recipe_.sequence().has_anomaly()) sequence.source[batch.labels[0].item<int64_t>()] += "*";
  return sequence;
}

absl::Status SequenceRun::Translate(NamedSequence& sequence) const {
  SequenceBatch& batch = sequence.batch;
  batch.target = OneSequence({WordVocabulary::kBegin});
  RETURN_IF_ERROR(CheckBatch(model().config(), batch));
  const int64_t most = std::min<int64_t>(batch.source.size(1) + 50, model().config().max_length() - 1);
  ASSIGN_OR_RETURN(auto answers,
                   GreedyDecode(model(), batch.source, {WordVocabulary::kBegin, WordVocabulary::kEnd}, most));
  answers.front().insert(answers.front().begin(), WordVocabulary::kBegin);
  batch.target = OneSequence(answers.front());
  NameElements(sequence);
  return absl::OkStatus();
}

void SequenceRun::NameElements(NamedSequence& sequence) const {
  const at::Tensor& source = sequence.batch.source;
  const bool features = source.dim() == 3, digits = recipe_.sequence().has_digits();
  for (int64_t i = static_cast<int64_t>(sequence.source.size()); i < source.size(1); ++i) {
    const int64_t id = !features ? source[0][i].item<int64_t>() : digits ? source[0][i].argmax().item<int64_t>() : i;
    sequence.source.push_back(features ? absl::StrCat(id) : source_ ? source_->word(id) : Shown(vocabulary_[id]));
  }
  for (int64_t i = 0; sequence.batch.target.defined() && i < sequence.batch.target.size(1); ++i) {
    const int64_t id = sequence.batch.target[0][i].item<int64_t>();
    sequence.target.push_back(target_->word(id < target_->size() ? id : WordVocabulary::kUnknown));
  }
}

}  // namespace vitrine
