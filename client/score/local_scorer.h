// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_SCORE_LOCAL_SCORER_H_
#define VITRINE_CLIENT_SCORE_LOCAL_SCORER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/commands/image_run.h"
#include "client/engine/local_model.h"
#include "client/eval/run/read_ahead.h"
#include "client/eval/run/rounds.h"
#include "client/eval/run/run_progress.h"
#include "client/score/scorer.h"
#include "common/data/dataset.h"

namespace vitrine {

// Choice of a model that this process loads from a repository and computes itself, without a server.
struct LocalChoice {
  std::string repository = {};  // folder; empty: servers compute
  int threads = 0;              // 0: one per core that this process may use
  std::string precision = "fp32";
};

// Checks the flags without reading files. INVALID_ARGUMENT: the repository is empty or a URL, or `choice` has a label.
absl::Status CheckLocalChoice(const LocalChoice& local, const ModelChoice& choice);

// Loads the version. Returns the errors of CheckLocalChoice, FindVersion and LocalModel::Load. INVALID_ARGUMENT:
// unknown precision.
absl::StatusOr<std::unique_ptr<LocalModel>> LoadLocally(const LocalChoice& local, const ModelChoice& choice);

// Computes images with a model in this process. While the engine computes some batches, the next images are read.
class LocalScorer final : public Scorer {
 public:
  struct Options {
    std::string source = {};                  // name of the images' source, for messages
    const std::atomic<bool>* stop = nullptr;  // once true, no more images are read; may be null
  };
  // The references must outlive this object.
  LocalScorer(Options options, LocalModel& model, const ImageSet& data, RunProgress& progress, RoundsClient& user);
  ~LocalScorer() override;

  void KnowReadable(int64_t index) override { readable_ = index; }
  absl::Status Score(std::vector<int64_t> images) override;
  void Stop(const absl::Status& why) override;
  int in_flight() const override { return 0; }

 private:
  struct Batch;

  bool Stopping() const { return !stopped_.ok() || (options_.stop != nullptr && *options_.stop); }
  // Scores each image. Leaves in `again_` the images that must be read again.
  void ScoreOnce(const std::vector<int64_t>& images);
  void SayIfStopping();
  // Starts the computation of a batch on a new thread.
  void Begin(std::unique_ptr<Batch> batch, std::deque<std::unique_ptr<Batch>>& running);
  // Reads a batch of the images from `next` on, and advances `next`.
  std::unique_ptr<Batch> Read(ReadAhead& reader, const std::vector<int64_t>& images, size_t& next);
  void TakeReadError(int64_t index, const absl::Status& why);
  void Compute(Batch& batch);
  void Take(const Batch& batch);

  const Options options_;
  LocalModel& model_;
  const ImageSet& data_;
  RunProgress& progress_;
  RoundsClient& user_;
  size_t most_;                                          // limit of images in the next batch
  std::optional<std::pair<int64_t, std::string>> held_;  // image that was read and did not fit into the last batch
  std::vector<int64_t> again_ = {};
  bool is_last_read_ = false;  // true: images that cannot be read now are not read again
  bool cut_short_ = false;     // true: the last ScoreOnce left images out
  bool said_stopping_ = false;
  int64_t readable_ = -1;  // index of a readable image; -1: none is known
  absl::Status stopped_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_SCORE_LOCAL_SCORER_H_
