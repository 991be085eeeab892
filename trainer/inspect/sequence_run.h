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

// One sequence, with a name for each element: its digit, character or word, or its index in a set. Names show white
// space as ' ' and \n. `target` is empty unless the model is an encoder-decoder.
struct NamedSequence {
  SequenceBatch batch = {};
  std::vector<std::string> source = {}, target = {};
};

// A trained model of sequences, with its task and the vocabularies of its data.
class SequenceRun {
 public:
  // Opens the state in the work folder of a finished or stopped run, and changes no file. The weights are those that
  // the run itself would report: averaged weights if the recipe averages them, and the best weights if the recipe holds
  // out samples. `data` is the run's --data; it may be empty if the recipe generates its data. NOT_FOUND: the folder
  // has no state. INVALID_ARGUMENT: the folder has a run of images, or `data` are not the run's data. Other errors are
  // those of MakeSequenceTask, RestoreState and LoadBest.
  static absl::StatusOr<SequenceRun> Open(const std::filesystem::path& work_dir, const std::string& data);

  const v1::Recipe& recipe() const { return recipe_; }
  const SequenceModel& model() const { return static_cast<const SequenceModel&>(*module_); }
  const std::string& weights() const { return weights_; }  // "step 780", "best, step 390", "average, step 780"
  const std::string& remark() const { return remark_; }    // why the last state could not be used, or empty

  // Parses one input: digits ("3 1 4" or "314"), characters, number words or a sentence. INVALID_ARGUMENT: the text is
  // empty or too long for the model, or it contains other characters than digits, or tokens outside the language's
  // vocabulary. In a translation, a word outside the vocabulary becomes <unk>, but keeps its name.
  absl::StatusOr<NamedSequence> Read(const std::string& text) const;
  // Returns a training sample of the first epoch. The name of a set's anomaly ends with "*". INVALID_ARGUMENT if there
  // is no such sample.
  absl::StatusOr<NamedSequence> Sample(int64_t sample) const;
  // Translates greedily, to at most 50 words more than the source has, and sets the sequence's target: <bos> and the
  // words. An id that the vocabulary lacks is named <unk>. Requires a translation run and a sequence without target.
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
  std::vector<std::string> vocabulary_;            // language only
  std::optional<WordVocabulary> source_, target_;  // translation only
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_INSPECT_SEQUENCE_RUN_H_
