// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "trainer/watch/event_record.h"
#include "trainer/watch/tensorboard_event.pb.h"

namespace vitrine {
namespace {

constexpr int64_t kMostSteps = 10000;  // TensorBoard shows a sample of 1,000 points per curve
constexpr char kPrefix[] = "events.out.tfevents.";

std::string RecordOf(const tensorboard::Event& event) {
  return EventRecord(event.SerializeAsString());
}

tensorboard::Event EventAt(int64_t step) {
  tensorboard::Event event;
  event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  event.set_step(step);
  return event;
}

void AddScalar(const std::string& tag, double number, tensorboard::Event& event) {
  tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  value.set_simple_value(static_cast<float>(number));
}

// Returns an event with the recipe as text. TensorBoard renders text as Markdown, so the recipe is indented by four
// spaces, which marks literal text.
tensorboard::Event RecipeEvent(const std::string& recipe) {
  tensorboard::Event event = EventAt(0);
  tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag("recipe");
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value.mutable_tensor()->set_dtype(tensorboard::Tensor::STRING);
  value.mutable_tensor()->mutable_shape()->add_dim()->set_size(1);
  value.mutable_tensor()->add_string_val(absl::StrCat("    ", absl::StrReplaceAll(recipe, {{"\n", "\n    "}})));
  return event;
}

// Returns the Unix time for the name of a new file: the current second, or a later second if an earlier file has that
// time. TensorBoard reads event files in the order of their names.
int64_t NextSecond(const std::filesystem::path& folder) {
  int64_t second = absl::ToUnixSeconds(absl::Now());
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    int64_t other = 0;
    if (absl::StartsWith(name, kPrefix) && absl::SimpleAtoi(name.substr(sizeof(kPrefix) - 1, 10), &other)) {
      second = std::max(second, other + 1);
    }
  }
  return second;
}

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return absl::StrReplaceAll(name, {{"/", "_"}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Open(Options options) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) return FileError(error.value(), options.folder.string());
  const std::string name = absl::StrFormat("%s%010d.%s.%d", kPrefix, NextSecond(options.folder), HostName(), getpid());

  tensorboard::Event version = EventAt(0);
  version.set_file_version("brain.Event:2");
  const std::string head = RecordOf(version) + RecordOf(RecipeEvent(options.recipe));
  ASSIGN_OR_RETURN(AppendFile file, AppendFile::Create(options.folder / name, head));
  return std::unique_ptr<EventFile>(new EventFile(options.folder / name, std::move(file), std::move(options.warn)));
}

void EventFile::OnStart(const StartReport& report) {
  if (report.step == 0) return;
  tensorboard::Event start = EventAt(report.step + 1);
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  Write(start);
}

void EventFile::OnStep(const StepReport& report) {
  const int64_t stride = std::max<int64_t>(1, report.total_steps / kMostSteps);
  if (report.step % stride != 0 && report.step != report.total_steps) return;
  tensorboard::Event event = EventAt(report.step);
  AddScalar("train/loss", report.loss, event);
  AddScalar("train/learning_rate", report.lr, event);
  if (report.gradient_norm != 0) AddScalar("train/gradient_norm", report.gradient_norm, event);
  if (!std::isnan(report.epoch_accuracy)) AddScalar("train/accuracy", report.epoch_accuracy, event);
  AddScalar("train/samples_per_second", report.samples_per_second, event);
  AddScalar("train/data_wait_share", report.wait_share, event);
  Write(event);
}

void EventFile::OnScore(const ScoreReport& report) {
  tensorboard::Event event = EventAt(report.step);
  // The tags below must differ from the tags in OnStep.
  const std::string group = report.split == "train" ? "train/measured_" : absl::StrCat(report.split, "/");
  for (const Measure& measure : report.score.measures) {
    AddScalar(absl::StrCat(group, measure.name), measure.value, event);
  }
  Write(event);
}

void EventFile::Write(const tensorboard::Event& event) {
  const absl::Status written = file_.Append(RecordOf(event));
  if (written.ok() != fails_) return;
  fails_ = !written.ok();
  if (!warn_) return;
  warn_(fails_ ? absl::StrCat(std::string(written.message()), "; the run continues, and events are written later")
               : "events are written again");
}

}  // namespace vitrine
