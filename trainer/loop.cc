#include "trainer/loop.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "repository/sha256.h"
#include "trainer/evaluate.h"
#include "trainer/loader.h"
#include "trainer/optimizer.h"
#include "trainer/recipe.h"
#include "trainer/replicas.h"
#include "trainer/sampler.h"
#include "trainer/schedule.h"

namespace vitrine {
namespace {

// A row of history.csv, which is there to be plotted.
struct EpochRow {
  int64_t step = 0;
  double epoch = 0, lr = 0, loss = 0, train_accuracy = 0, images_per_second = 0;
  std::string test_accuracy;  // empty: not measured
};

void AppendHistory(const std::filesystem::path& work_dir, const EpochRow& row) {
  const std::filesystem::path file = work_dir / "history.csv";
  const bool is_new = !std::filesystem::exists(file);
  std::ofstream out(file, std::ios::app);
  if (is_new) out << "step,epoch,lr,loss,train_accuracy,test_accuracy,images_per_second\n";
  out << absl::StreamFormat("%d,%.3f,%.3g,%.5f,%.5f,%s,%.1f\n", row.step, row.epoch, row.lr, row.loss,
                            row.train_accuracy, row.test_accuracy, row.images_per_second);
}

absl::Status CheckFit(const v1::Recipe& recipe, const Model& model, const Dataset& train, const Dataset* test) {
  for (const Dataset* data : {&train, test}) {
    if (data == nullptr) continue;
    if (data->size() == 0) return absl::InvalidArgumentError("the data set is empty");
    if (static_cast<int>(data->labels().size()) != model.config().classes()) {
      return absl::InvalidArgumentError(absl::StrCat("the data has ", data->labels().size(), " classes, but the model ",
                                                     recipe.model(), " has ", model.config().classes(),
                                                     "; set model_overrides.classes"));
    }
  }
  const v1::Preprocessing& preprocessing = model.config().preprocessing();
  if (preprocessing.has_fixed() && !recipe.sizes().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes are for models of native resolution; ", recipe.model(), " has a fixed one"));
  }
  for (const v1::TrainingSize& size : recipe.sizes()) {
    RETURN_IF_ERROR(model.GridFor(size.height(), size.width()).status());
  }
  return absl::OkStatus();
}

// One run: constructed, perhaps restored, run once.
class Run {
 public:
  Run(const v1::Recipe& recipe, const Dataset& train, const Dataset* test, const TrainOptions& options,
      Progress& progress, std::unique_ptr<Model> model)
      : recipe_(recipe),
        train_(train),
        test_(test),
        options_(options),
        progress_(progress),
        model_(std::move(model)),
        optimizer_(recipe.optimizer(), model_->Parameters()),
        plan_(PlanSteps(recipe, train.size())),
        data_digest_(DigestOf(train)) {
    position_.threads = options.threads;
  }

  absl::Status Restore() {
    std::error_code ignored;
    if (!std::filesystem::exists(StateFile(options_.work_dir), ignored)) {
      if (options_.resume) progress_.Line(absl::StrCat("no state in ", options_.work_dir.string(), "; starting anew"));
      return absl::OkStatus();
    }
    if (!options_.resume) {
      return absl::FailedPreconditionError(absl::StrCat(options_.work_dir.string(),
                                                        " holds the state of a run; continue it with --resume, or give "
                                                        "another folder to start anew"));
    }
    ASSIGN_OR_RETURN(position_, RestoreState(options_.work_dir, recipe_, data_digest_, *model_, optimizer_));
    progress_.Line(
        absl::StrFormat("resumed at step %d of %d (epoch %.2f)", position_.step, plan_.total_steps, Epochs()));
    if (position_.threads != options_.threads) {
      progress_.Line(absl::StrCat("the state was written by a run with ", position_.threads, " threads, this one has ",
                                  options_.threads, ": the result will not be bit-exact"));
    }
    position_.threads = options_.threads;
    return absl::OkStatus();
  }

  absl::StatusOr<TrainResult> ToTheEnd() {
    ASSIGN_OR_RETURN(replicas_, Replicas::Make(*model_, options_.threads));
    BatchLoader loader(train_, recipe_, model_->config().preprocessing(), plan_, position_.step,
                       {.threads = options_.loader_threads});
    started_ = absl::Now();
    first_images_ = position_.images;
    seconds_before_ = position_.seconds;
    while (position_.step < plan_.total_steps && !Stopped()) {
      ASSIGN_OR_RETURN(const TrainingBatch batch, loader.Next());
      RETURN_IF_ERROR(Step(batch));
      waited_ = loader.waited();
      if (options_.after_step) options_.after_step(position_);
      const bool epoch_ends = position_.step % plan_.steps_per_epoch == 0 || position_.step == plan_.total_steps;
      if (epoch_ends) {
        RETURN_IF_ERROR(EndEpoch());
      } else if (Stopped() || (options_.save_every_steps > 0 && position_.step % options_.save_every_steps == 0)) {
        RETURN_IF_ERROR(Save());
      }
      Show();
    }
    progress_.Finish();
    replicas_.reset();
    model_->RequireGrad(false);
    TrainResult result{.model = std::move(model_),
                       .position = position_,
                       .finished = false,
                       .data_digest = data_digest_,
                       .epochs = Epochs()};
    result.finished = position_.step >= plan_.total_steps;
    return result;
  }

 private:
  bool Stopped() const { return options_.stop != nullptr && *options_.stop; }
  double Epochs() const { return static_cast<double>(position_.step) / static_cast<double>(plan_.steps_per_epoch); }
  int64_t ImagesOfEpoch() const {
    const int64_t steps = position_.step % plan_.steps_per_epoch;
    return (steps == 0 ? plan_.steps_per_epoch : steps) * plan_.batch;
  }
  double Rate() const {
    const double seconds = absl::ToDoubleSeconds(absl::Now() - started_ - evaluating_);
    return static_cast<double>(position_.images - first_images_) / std::max(1e-9, seconds);
  }

  absl::Status Step(const TrainingBatch& batch) {
    const ForwardContext context{.training = true,
                                 .tap = nullptr,
                                 .bf16 = recipe_.bf16(),
                                 .dropout = recipe_.dropout(),
                                 .dropout_seed = CounterRandom(recipe_.seed(), position_.step, 0).Next()};
    const absl::StatusOr<StepOutcome> outcome = replicas_->ComputeGradients(batch, context, recipe_.label_smoothing());
    if (!outcome.ok()) {
      return absl::InternalError(absl::StrCat("step ", position_.step, ": ", outcome.status().message()));
    }
    if (!std::isfinite(outcome->loss)) {
      return absl::AbortedError(absl::StrFormat(
          "the loss is %f at step %d (epoch %.2f); a lower optimizer.lr or clip_norm may help. The last state is in %s",
          outcome->loss, position_.step, Epochs(), options_.work_dir.string()));
    }
    lr_ = LearningRate(recipe_, plan_, position_.step);
    try {
      if (recipe_.clip_norm() > 0) optimizer_.ClipGradients(recipe_.clip_norm());
      optimizer_.Step(lr_);
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("optimizer at step ", position_.step, ": ", error.what()));
    }
    Count(outcome->loss, outcome->correct);
    return absl::OkStatus();
  }

  void Count(double loss, int64_t correct) {
    if (position_.step % plan_.steps_per_epoch == 0) position_.loss_sum = position_.correct = 0;
    position_.loss_sum += loss * static_cast<double>(plan_.batch);
    position_.correct += correct;
    position_.images += plan_.batch;
    ++position_.step;
    position_.seconds = seconds_before_ + absl::ToDoubleSeconds(absl::Now() - started_);
  }

  absl::Status Save() { return SaveState(options_.work_dir, recipe_, data_digest_, position_, *model_, optimizer_); }

  absl::Status EndEpoch() {
    RETURN_IF_ERROR(Save());
    EpochRow row{.step = position_.step, .epoch = Epochs(), .lr = lr_, .test_accuracy = ""};
    row.loss = position_.loss_sum / static_cast<double>(ImagesOfEpoch());
    row.train_accuracy = static_cast<double>(position_.correct) / static_cast<double>(ImagesOfEpoch());
    row.images_per_second = Rate();
    std::string line = absl::StrFormat("epoch %.2f  loss %.4f  train acc %.2f %%  lr %.2g  %.0f images/s", row.epoch,
                                       row.loss, 100 * row.train_accuracy, lr_, row.images_per_second);
    const int64_t epoch = position_.step / plan_.steps_per_epoch;
    if (test_ != nullptr && recipe_.evaluate_every() > 0 && epoch > 0 && epoch % recipe_.evaluate_every() == 0 &&
        !Stopped()) {
      const absl::Time start = absl::Now();
      std::optional<Size> size;
      if (!recipe_.evaluation_sizes().empty()) {
        ASSIGN_OR_RETURN(size, ParseSize(recipe_.evaluation_sizes(0)));
      }
      const absl::StatusOr<Accuracy> accuracy =
          Evaluate(*model_, *test_, size, {.threads = options_.threads, .stop = options_.stop});
      evaluating_ += absl::Now() - start;
      if (accuracy.ok()) {
        row.test_accuracy = absl::StrFormat("%.5f", accuracy->top1());
        absl::StrAppendFormat(&line, "  test acc %.2f %%", 100 * accuracy->top1());
      } else if (!absl::IsCancelled(accuracy.status())) {
        return accuracy.status();
      }
    }
    AppendHistory(options_.work_dir, row);
    progress_.Line(line);
    return absl::OkStatus();
  }

  void Show() {
    const double images = static_cast<double>(ImagesOfEpoch());
    ProgressState state{.step = position_.step,
                        .total_steps = plan_.total_steps,
                        .steps_per_epoch = plan_.steps_per_epoch,
                        .loss = position_.loss_sum / images,
                        .accuracy = static_cast<double>(position_.correct) / images,
                        .images_per_second = Rate(),
                        .wait_share = absl::FDivDuration(waited_, absl::Now() - started_ - evaluating_),
                        .remaining = absl::ZeroDuration()};
    const double images_left = static_cast<double>((plan_.total_steps - position_.step) * plan_.batch);
    state.remaining = absl::Seconds(images_left / std::max(1e-9, state.images_per_second));
    progress_.Update(state, absl::Now());
  }

  const v1::Recipe& recipe_;
  const Dataset& train_;
  const Dataset* const test_;
  const TrainOptions& options_;
  Progress& progress_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Replicas> replicas_;
  Optimizer optimizer_;
  const StepPlan plan_;
  const std::string data_digest_;

  RunPosition position_;
  double lr_ = 0;
  absl::Time started_;         // of this run
  int64_t first_images_ = 0;   // seen before this run
  double seconds_before_ = 0;  // spent before this run
  absl::Duration evaluating_;  // part of this run that measured the test split
  absl::Duration waited_;      // for data
};

}  // namespace

std::string DigestOf(const Dataset& data) {
  std::set<std::string> lines;
  for (int64_t i = 0; i < data.size(); ++i) lines.insert(absl::StrCat(data.name(i), "\t", data.label(i), "\n"));
  std::string all;
  for (const std::string& line : lines) all += line;
  return Sha256Hex(all);
}

void SetComputeThreads(int threads) {
  at::set_num_threads(threads);
}

absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Dataset& train, const Dataset* test,
                                  const TrainOptions& options, Progress& progress) {
  RETURN_IF_ERROR(ValidateRecipe(recipe));
  ASSIGN_OR_RETURN(const v1::ModelConfig config, ConfigOf(recipe));
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(config, recipe.seed()));
  RETURN_IF_ERROR(CheckFit(recipe, *model, train, test));
  std::error_code error;
  std::filesystem::create_directories(options.work_dir, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(options.work_dir.string(), ": ", error.message()));
  }
  SetComputeThreads(1);  // each replica is a thread
  Run run(recipe, train, test, options, progress, std::move(model));
  RETURN_IF_ERROR(run.Restore());
  return run.ToTheEnd();
}

}  // namespace vitrine
