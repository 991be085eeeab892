#ifndef VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_
#define VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "trainer/observer.h"
#include "trainer/watch/append_file.h"
#include "trainer/watch/history.h"

namespace vitrine {

// Writes history.csv, a row for every epoch and every step that was measured, and steps.csv, a row for every step.
//
// A run that was interrupted at any moment and continued leaves the same rows as an uninterrupted one, but for
// samples_per_second, if the state of a step is saved after the observers have heard of that step: rows of steps behind
// the resumed one are cut off and come anew.
//
// A disk without room does not end the run: what could not be written is written as soon as there is room.
class HistoryWriter final : public Observer {
 public:
  // `resumed_step`: steps done in the state that the run continues from; 0 for a new run, which starts the files anew.
  // `warn` hears of the first failure to write and of its end; may be null. Errors as AppendFile, ReadHistory and
  // ReadSteps.
  static absl::StatusOr<std::unique_ptr<HistoryWriter>> Open(const std::filesystem::path& work_dir,
                                                             int64_t resumed_step,
                                                             std::function<void(const std::string&)> warn = nullptr);

  void OnStep(const StepReport& report) override;
  void OnScore(const ScoreReport& report) override;
  void OnEpoch(const EpochReport& report) override;

 private:
  HistoryWriter(AppendFile history_file, AppendFile steps_file, History history,
                std::function<void(const std::string&)> warn)
      : history_file_(std::move(history_file)),
        steps_file_(std::move(steps_file)),
        history_(std::move(history)),
        warn_(std::move(warn)) {}

  HistoryRow& RowOf(int64_t step);
  void WriteHistory();
  void Tell(const absl::Status& written, bool& fails);

  AppendFile history_file_;
  AppendFile steps_file_;
  History history_;
  const std::function<void(const std::string&)> warn_;
  StepReport last_;
  bool history_fails_ = false;
  bool steps_fail_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_HISTORY_WRITER_H_
