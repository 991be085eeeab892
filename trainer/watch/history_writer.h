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

// Writes history.csv, with a row for every epoch and every measured step, and steps.csv, with a row for every step.
//
// A resumed run removes the rows after the resumed step and writes them again. The final rows are therefore the same as
// in an uninterrupted run, except for samples_per_second.
//
// A full disk does not end the run: rows that could not be written are written once there is space.
class HistoryWriter final : public Observer {
 public:
  // Reads the files of an earlier run, if they exist, and rewrites them without an incomplete last line. OnStart
  // removes rows of steps after the resumed step. `warn` is called at the first write error and when writing works
  // again; it may be null. Returns the errors of ReadHistory and ReadSteps; also PERMISSION_DENIED or another error if
  // the folder cannot be written.
  static absl::StatusOr<std::unique_ptr<HistoryWriter>> Open(const std::filesystem::path& work_dir,
                                                             std::function<void(const std::string&)> warn = nullptr);

  void OnStart(const StartReport& report) override;
  void OnStep(const StepReport& report) override;
  void OnScore(const ScoreReport& report) override;
  void OnEpoch(const EpochReport& report) override;

 private:
  HistoryWriter(AppendFile history_file, AppendFile steps_file, History history, Steps steps,
                std::function<void(const std::string&)> warn)
      : history_file_(std::move(history_file)),
        steps_file_(std::move(steps_file)),
        history_(std::move(history)),
        earlier_steps_(std::move(steps.rows)),
        warn_(std::move(warn)) {}

  HistoryRow& RowOf(int64_t step);
  void Count(const StepRow& step);
  void WriteHistory();
  void Tell(const absl::Status& written, bool& fails);

  AppendFile history_file_;
  AppendFile steps_file_;
  History history_;
  std::vector<StepRow> earlier_steps_;  // rows of the run that is resumed; empty after OnStart
  const std::function<void(const std::string&)> warn_;
  // Values since the last row.
  double loss_sum_ = 0;
  int64_t steps_ = 0;
  double lr_ = 0;
  double samples_per_second_ = 0;
  bool history_fails_ = false;
  bool steps_fail_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_
