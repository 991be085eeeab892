// SPDX-License-Identifier: Apache-2.0
// One rank of a training, or a training of one process if the environment names no rank. Prints the loss of every step.
// Exit code 1: the training failed; the status is the last line.
//   training_worker WORK_FOLDER anew|resume BATCH STEPS [FIELDS OF THE RECIPE]
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/str_format.h"
#include "trainer/lab/tasks/sequence_task.h"
#include "trainer/loop.h"
#include "trainer/scale_out/gloo.h"

namespace vitrine {
namespace {

constexpr char kRecipe[] = R"pb(
  name: "reverse"
  sequence {
    model: "task-kv-pos-d64-l2"
    digits { task: REVERSE length: 8 }
  }
  optimizer { kind: ADAM lr: 1e-3 }
  schedule { kind: CONSTANT }
  seed: 3
)pb";

class PrintedLosses final : public Observer {
 public:
  void OnStep(const StepReport& report) override {
    std::cout << absl::StrFormat("loss %d %.9f", report.step, report.loss) << std::endl;
  }
};

absl::Status Work(const std::string& folder, bool resume, int batch, int64_t steps, const std::string& fields) {
  v1::Recipe recipe;
  if (!google::protobuf::TextFormat::ParseFromString(kRecipe, &recipe)) return absl::InternalError("recipe");
  if (!google::protobuf::TextFormat::MergeFromString(fields, &recipe)) return absl::InternalError(fields);
  const auto rendezvous = ReadRendezvous([](const char* name) { return std::getenv(name); });
  if (!rendezvous.ok()) return rendezvous.status();
  absl::StatusOr<std::unique_ptr<Communicator>> ranks = std::make_unique<Alone>();
  if (rendezvous->has_value()) ranks = Connect(**rendezvous, {.answer_timeout = absl::Seconds(60)});
  if (!ranks.ok()) return ranks.status();

  recipe.set_batch(batch);
  const auto task = MakeSequenceTask(recipe, "");
  if (!task.ok()) return task.status();
  const int64_t steps_per_epoch = (*task)->samples() / (batch * std::max(1, recipe.accumulate()) * (*ranks)->size());
  recipe.set_epochs(static_cast<double>(steps) / static_cast<double>(steps_per_epoch));
  PrintedLosses losses;
  TrainOptions options{.work_dir = folder, .resume = resume};
  options.communicator = ranks->get();
  if ((*ranks)->rank() == 0) options.observers = {&losses};
  const auto result = Train(recipe, **task, options);
  return result.status();
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  const absl::Status status = vitrine::Work(argv[1], std::string(argv[2]) == "resume", std::atoi(argv[3]),
                                            std::atoi(argv[4]), argc > 5 ? argv[5] : "");
  std::cout << (status.ok() ? "done" : status.ToString()) << std::endl;
  return status.ok() ? 0 : 1;
}
