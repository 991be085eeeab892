// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_EVENT_FILE_H_
#define VITRINE_TRAINER_WATCH_EVENT_FILE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "trainer/observer.h"
#include "trainer/watch/append_file.h"

namespace vitrine {

namespace tensorboard {
class Event;
}

// A run as a TensorBoard event file: `tensorboard --logdir FOLDER`.
//   train/loss, train/learning_rate, train/gradient_norm, train/accuracy, train/samples_per_second,
//   train/data_wait_share    at every step; in a run of 20,000 steps or more, at 10,000 to 15,000 of them
//   SPLIT/MEASURE            at measurements: "test/top1"
//   recipe                   as text, at step 0
// Omits the gradient norm if it is 0 and the accuracy if it is NaN.
//
// Each event is written immediately. A resumed run writes a new file with a later name in the same folder. The new file
// begins with a session start at the first step of the resumed run. TensorBoard therefore ignores the events of earlier
// files for this step and for later steps. A full disk does not end the run; events that could not be written are
// written once there is space.
class EventFile final : public Observer {
 public:
  struct Options {
    std::filesystem::path folder = {};  // created if missing
    std::string recipe = {};            // recipe as text
    // Function that is called at the first write error and when writing works again; may be null.
    std::function<void(const std::string&)> warn = nullptr;
  };
  // Returns the errors of AppendFile::Create.
  static absl::StatusOr<std::unique_ptr<EventFile>> Open(Options options);

  void OnStart(const StartReport& report) override;
  void OnStep(const StepReport& report) override;
  void OnScore(const ScoreReport& report) override;

  const std::filesystem::path& path() const { return path_; }

 private:
  EventFile(std::filesystem::path path, AppendFile file, std::function<void(const std::string&)> warn)
      : path_(std::move(path)), file_(std::move(file)), warn_(std::move(warn)) {}

  void Write(const tensorboard::Event& event);

  const std::filesystem::path path_;
  AppendFile file_;
  const std::function<void(const std::string&)> warn_;
  bool fails_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_EVENT_FILE_H_
