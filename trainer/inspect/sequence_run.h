// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_INSPECT_SEQUENCE_RUN_H_
#define VITRINE_TRAINER_INSPECT_SEQUENCE_RUN_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/lab/data/parallel_text.h"
#include "trainer/lab/sequence_model.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// One sequence, with a name for each element: the digit, character or word or, in a set, the element's index. Names
// show white space as ' ' and \n. `target` is empty unless the model is an encoder-decoder.
struct NamedSequence {
  SequenceBatch batch = {};
  std::vector<std::string> source = {}, target = {};
};

// A trained model of sequences, with its task and the vocabularies of its data.
class SequenceRun {
 public:
  // Opens the state in the work folder of a finished or stopped run. Changes no file. Loads the weights whose score the
  // run would report: the best weights so far if the recipe holds out samples; otherwise the last weights, averaged if
  // the recipe averages weights. `data` is the run's --data; it may be empty if the recipe generates its data.
  // NOT_FOUND: the folder has no state. INVALID_ARGUMENT: the folder has a run of images, or `data` are not the run's
  // data. Other errors are those of MakeSequenceTask, RestoreState and LoadBest.
  static absl::StatusOr<SequenceRun> Open(const std::filesystem::path& work_dir, const std::string& data);

  const v1::Recipe& recipe() const { return recipe_; }
  const SequenceModel& model() const { return static_cast<const SequenceModel&>(*module_); }
  const std::string& weights() const { return weights_; }  // "step 780", "best, step 390", "average, step 780"
  const std::string& remark() const { return remark_; }    // why the last state could not be used, or empty

  // Parses one input: digits ("3 1 4" or "314"), characters, number words or a sentence. INVALID_ARGUMENT: the text is
  // empty or too long for the model, has a character that is not a digit where digits are expected, or has a token
  // outside the vocabulary of a language run. In a translation run, a word outside the vocabulary gets the id of <unk>,
  // but keeps its name.
  absl::StatusOr<NamedSequence> Read(const std::string& text) const;
  // Returns a training sample of the first epoch. If the sample is a set with an anomaly, the anomaly's name ends with
  // "*". INVALID_ARGUMENT if `sample` is not an index of a training sample.
  absl::StatusOr<NamedSequence> Sample(int64_t sample) const;
  // Translates greedily and sets the sequence's target: <bos> and the translated words. The translation has at most 50
  // ids more than the source. An id outside the vocabulary is named <unk>. Requires a translation run and a sequence
  // without target.
  absl::Status Translate(NamedSequence& sequence) const;

  // Returns the token of each id. For language runs only.
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }

 private:
  absl::Status LoadWeights(const std::filesystem::path& work_dir);
  absl::Status MakeVocabularies(const std::string& data);
  absl::StatusOr<NamedSequence> ReadTokens(const std::vector<std::string>& tokens) const;
  // Names the elements of the target. Also names the elements of the source if they have no names yet.
  void NameElements(NamedSequence& sequence) const;

  v1::Recipe recipe_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Module> module_;  // a SequenceModel
  std::string weights_, remark_;
  std::vector<std::string> vocabulary_;            // set in language runs only
  std::optional<WordVocabulary> source_, target_;  // set in translation runs only
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_INSPECT_SEQUENCE_RUN_H_
