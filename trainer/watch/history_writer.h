// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_
#define VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/observer.h"
#include "trainer/watch/append_file.h"
#include "trainer/watch/history.h"

namespace vitrine {

// Writes history.csv, a row for every epoch and every step that was measured, and steps.csv, a row for every step.
//
// A run that was interrupted at any moment and continued leaves the same rows as an uninterrupted one, but for
// samples_per_second: what the files hold of later steps than the resumed one is cut off and comes anew.
//
// A disk without room does not end the run: what could not be written is written as soon as there is room.
class HistoryWriter final : public Observer {
 public:
  // Reads the files of an earlier run, if there are any, and changes nothing before OnStart: a run that starts at step
  // 0 starts them anew. `warn` hears of the first failure to write and of its end; may be null. Errors as ReadHistory
  // and ReadSteps; PERMISSION_DENIED and others where the folder cannot be written.
  static absl::StatusOr<std::unique_ptr<HistoryWriter>> Open(const std::filesystem::path& work_dir,
                                                             std::function<void(const std::string&)> warn = nullptr);

  void OnStart(const StartReport& report) override;
  void OnStep(const StepReport& report) override;
  void OnScore(const ScoreReport& report) override;
  void OnEpoch(const EpochReport& report) override;

 private:
  HistoryWriter(AppendFile history_file, AppendFile steps_file, History history, std::vector<StepRow> steps,
                std::function<void(const std::string&)> warn)
      : history_file_(std::move(history_file)),
        steps_file_(std::move(steps_file)),
        history_(std::move(history)),
        earlier_steps_(std::move(steps)),
        warn_(std::move(warn)) {}

  HistoryRow& RowOf(int64_t step);
  void Count(const StepRow& step);
  void WriteHistory();
  void Tell(const absl::Status& written, bool& fails);

  AppendFile history_file_;
  AppendFile steps_file_;
  History history_;
  std::vector<StepRow> earlier_steps_;  // of the run that is continued; empty after OnStart
  const std::function<void(const std::string&)> warn_;
  // Since the last row.
  double loss_sum_ = 0;
  int64_t steps_ = 0;
  double lr_ = 0;
  double samples_per_second_ = 0;
  bool history_fails_ = false;
  bool steps_fail_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_
