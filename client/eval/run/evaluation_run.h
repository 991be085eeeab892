// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_RUN_EVALUATION_RUN_H_
#define VITRINE_CLIENT_EVAL_RUN_EVALUATION_RUN_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/eval/journal.h"
#include "client/eval/run/rounds.h"
#include "client/eval/run/run.h"
#include "client/eval/run/run_progress.h"
#include "common/data/dataset.h"

namespace vitrine {

// One call of RunEvaluation (client/eval/run/run.h).
class EvaluationRun final : public RoundsClient {
 public:
  EvaluationRun(const EvalCommand& command, ProgressDisplay& display, const std::atomic<bool>* stop)
      : command_(command), display_(display), stop_(stop) {}

  absl::StatusOr<EvalResult> Do();

 private:
  // Opens the journal, and adds to `pending` the images that have no result.
  absl::Status OpenJournal(std::unique_ptr<Client> client, std::vector<int64_t>& pending);
  // Records the images whose label is no class of the model, and removes them from `pending`.
  void CountUnlabelled(std::vector<int64_t>& pending);
  Prediction Begin(const SentImage& image) const;
  void Record(const Prediction& prediction);

  v1::ClassifyRequest RequestWith(std::string image) const override;
  absl::Status TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer) override;
  void TakeFailure(const SentImage& image, Outcome outcome, const absl::Status& why) override;

  const EvalCommand& command_;
  ProgressDisplay& display_;
  const std::atomic<bool>* const stop_;

  std::unique_ptr<Dataset> data_;
  Evaluation evaluation_;
  std::optional<Journal> journal_;
  std::unique_ptr<RunProgress> progress_;
  std::unique_ptr<ImageRounds> rounds_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_RUN_EVALUATION_RUN_H_
