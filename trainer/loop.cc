// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "trainer/loader.h"
#include "trainer/optimise/average.h"
#include "trainer/optimise/block_norms.h"
#include "trainer/optimise/blocks.h"
#include "trainer/optimise/optimizer.h"
#include "trainer/optimise/schedule.h"
#include "trainer/optimise/trained.h"
#include "trainer/recipe/recipe.h"
#include "trainer/replicas.h"
#include "trainer/resume.h"
#include "trainer/sampler.h"
#include "trainer/scale_out/agreement.h"
#include "trainer/watch/progress_bar.h"

namespace vitrine {
namespace {

// Values that the processes exchange at every step, in addition to the gradients.
struct StepTotals {
  double loss = 0;
  double correct = 0;
  double predictions = 0;
  double stops = 0;  // number of processes with a request to stop
};

// Advice after a divergence: begin a new run, because a state can be resumed only with the same optimizer settings.
constexpr char kBeginAgain[] =
    "; a lower optimizer.lr or clip_norm may help: start again with it in a new folder (--work), without --resume";

// A training run. The caller calls Restore, CheckStart and ToTheEnd, once each, in this order.
class Run {
 public:
  Run(const v1::Recipe& recipe, const Task& task, const TrainOptions& options, const StepPlan& plan,
      std::unique_ptr<Module> model, std::vector<NamedTensor> trained, std::unique_ptr<Module> average)
      : recipe_(recipe),
        task_(task),
        options_(options),
        group_(options.communicator == nullptr ? alone_ : *options.communicator),
        plan_(plan),
        model_(std::move(model)),
        trained_(std::move(trained)),
        optimizer_(recipe.optimizer(), trained_) {
    if (average != nullptr) average_.emplace(*model_, std::move(average), recipe.ema_decay());
    position_.threads = options.threads;
    position_.processes = group_.size();
    position_.samples_per_step = plan_.samples_per_step();
  }

  absl::Status Restore();
  // Checks that all processes start with the same model.
  absl::Status CheckStart() { return CheckSameStart(group_, *model_, position_.step); }
  absl::StatusOr<TrainResult> ToTheEnd();

 private:
  bool StopRequested() const { return options_.stop != nullptr && *options_.stop; }
  bool Leads() const { return group_.rank() == 0; }
  double Epochs() const { return static_cast<double>(position_.step) / static_cast<double>(plan_.steps_per_epoch); }
  int64_t SamplesOfEpoch() const {
    const int64_t steps = position_.step % plan_.steps_per_epoch;
    return (steps == 0 ? plan_.steps_per_epoch : steps) * plan_.samples_per_step();
  }
  const Module& Measured() const { return average_ ? average_->module() : *model_; }
  RunParts Parts() const {
    return {recipe_, task_.data_digest(), *model_, average_ ? &average_->module() : nullptr, optimizer_};
  }

  absl::Status Step(BatchLoader& loader);
  absl::Status ShareGradients(StepTotals& totals);
  absl::Status RefuseUnlessFinite(double loss, double norm, const TrainingBatch& batch);
  void Count(const StepTotals& totals, double norm, double lr);
  absl::Status AfterStep();
  bool MeasuresNow() const;
  absl::StatusOr<std::string> MeasureNow();
  absl::Status Save() { return Leads() ? SaveState(options_.work_dir, Parts(), position_) : absl::OkStatus(); }
  void UpdateReport(const BatchLoader& loader);
  absl::StatusOr<TrainResult> Result();

  const v1::Recipe& recipe_;
  const Task& task_;
  const TrainOptions& options_;
  Alone alone_;
  Communicator& group_;
  const StepPlan plan_;
  std::unique_ptr<Module> model_;
  const std::vector<NamedTensor> trained_;
  std::optional<WeightAverage> average_;
  Optimizer optimizer_;
  std::unique_ptr<Replicas> replicas_;

  RunPosition position_;
  StepReport report_;                      // report of the last step
  std::optional<Score> measured_on_test_;  // score on the test split after the last step
  bool stopping_ = false;
  absl::Time started_;         // start of this run's training
  int64_t first_samples_ = 0;  // samples that earlier runs trained on
  double seconds_before_ = 0;  // training time of earlier runs
  absl::Duration measuring_;   // time spent on measurements in this run
};

absl::Status Run::Restore() {
  RETURN_IF_ERROR(CheckWorkFolder(options_.work_dir, options_.resume));
  if (Leads()) RETURN_IF_ERROR(CheckRoomForState(options_.work_dir, Parts()));
  ASSIGN_OR_RETURN(position_, ResumePosition(options_, Parts(), plan_, position_));
  return absl::OkStatus();
}

absl::StatusOr<TrainResult> Run::ToTheEnd() {
  for (const NamedTensor& parameter : trained_) parameter.tensor.set_requires_grad(true);
  ASSIGN_OR_RETURN(replicas_, Replicas::Make(task_, *model_, options_.threads));
  BatchLoader loader(task_, plan_, position_.step, {.threads = options_.loader_threads, .rank = group_.rank()});
  started_ = absl::Now();
  first_samples_ = position_.samples;
  seconds_before_ = position_.seconds;
  StartReport start{position_.step, plan_.total_steps, position_.unmeasured};
  if (recipe_.block_norms()) start.blocks = BlocksOf(trained_);
  for (Observer* observer : options_.observers) observer->OnStart(start);
  UpdateReport(loader);
  if (position_.unmeasured) RETURN_IF_ERROR(AfterStep());
  while (position_.step < plan_.total_steps && !stopping_) {
    const absl::Status stepped = Step(loader);
    // If a process was lost, the step has not changed the weights. The saved state is therefore the state before the
    // step.
    if (absl::IsUnavailable(stepped)) RETURN_IF_ERROR(Save());
    RETURN_IF_ERROR(stepped);
    UpdateReport(loader);
    for (Observer* observer : options_.observers) observer->OnStep(report_);
    if (options_.after_step) options_.after_step(position_);
    // With several processes, Step sets stopping_ in all processes as soon as one process has a request to stop.
    if (group_.size() == 1 && StopRequested()) stopping_ = true;
    RETURN_IF_ERROR(AfterStep());
  }
  replicas_.reset();
  model_->RequireGrad(false);
  return Result();
}

absl::Status Run::Step(BatchLoader& loader) {
  StepTotals totals;
  TrainingBatch batch, offender;
  replicas_->ClearGradients();
  for (int i = 0; i < plan_.accumulate; ++i) {
    ASSIGN_OR_RETURN(batch, loader.Next());
    const int64_t number = position_.step * plan_.batches_per_step() + i * plan_.processes + group_.rank();
    ForwardContext context;
    context.training = true;
    context.bf16 = recipe_.bf16();
    context.dropout_seed = CounterRandom(recipe_.seed(), number, 0).Next();
    SetDropping(recipe_, context);
    const absl::StatusOr<StepOutcome> outcome =
        replicas_->AddGradients(batch, context, 1.0 / static_cast<double>(plan_.batches_per_step()));
    if (!outcome.ok()) {
      return absl::InternalError(absl::StrCat("step ", position_.step, ": ", outcome.status().message()));
    }
    if (!std::isfinite(outcome->loss)) offender = batch;
    totals.loss += outcome->loss;
    totals.correct += static_cast<double>(outcome->correct);
    totals.predictions += static_cast<double>(outcome->predictions);
  }
  totals.stops = StopRequested() ? 1 : 0;
  double norm = 0;
  const double lr = LearningRate(recipe_, plan_, position_.step);
  try {
    RETURN_IF_ERROR(ShareGradients(totals));
    if (recipe_.block_norms()) report_.block_norms = BlockNorms(trained_);
    norm = optimizer_.ClipGradients(recipe_.clip_norm());
    RETURN_IF_ERROR(RefuseUnlessFinite(totals.loss, norm, offender.samples > 0 ? offender : batch));
    optimizer_.Step(lr, CycledBeta1(recipe_, plan_, position_.step));
    if (average_) average_->Update();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("optimizer at step ", position_.step, ": ", error.what()));
  }
  stopping_ = totals.stops > 0;
  Count(totals, norm, lr);
  return absl::OkStatus();
}

// Replaces the gradients and the totals by their sums over all processes.
absl::Status Run::ShareGradients(StepTotals& totals) {
  if (group_.size() == 1) return absl::OkStatus();
  const at::AutoGradMode no_grad(false);
  std::vector<at::Tensor> shared;
  for (const NamedTensor& parameter : trained_) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (!gradient.defined()) gradient = at::zeros_like(parameter.tensor);
    shared.push_back(gradient);
  }
  at::Tensor numbers = at::empty({4}, at::kDouble);
  double* values = numbers.mutable_data_ptr<double>();
  values[0] = totals.loss, values[1] = totals.correct, values[2] = totals.predictions, values[3] = totals.stops;
  shared.push_back(numbers);
  RETURN_IF_ERROR(group_.Sum(shared));
  totals = {values[0], values[1], values[2], values[3]};
  return absl::OkStatus();
}

absl::Status Run::RefuseUnlessFinite(double loss, double norm, const TrainingBatch& batch) {
  if (std::isfinite(loss) && std::isfinite(norm)) return absl::OkStatus();
  const std::filesystem::path file =
      options_.work_dir / absl::StrCat("batch-of-step-", position_.step, "-rank-", group_.rank(), ".safetensors");
  const absl::Status saved = SaveBatch(file, batch);
  return absl::AbortedError(absl::StrFormat(
      "the %s is %f at step %d (epoch %.2f)%s. %s%s", std::isfinite(loss) ? "norm of the gradients" : "loss",
      std::isfinite(loss) ? norm : loss, position_.step, Epochs(), kBeginAgain,
      saved.ok() ? absl::StrCat("The batch is in ", file.string(), ".") : std::string(saved.message()),
      HasState(options_.work_dir) ? absl::StrCat(" The last state is in ", options_.work_dir.string())
                                  : std::string()));
}

void Run::Count(const StepTotals& totals, double norm, double lr) {
  if (position_.step % plan_.steps_per_epoch == 0) {
    position_.loss_sum = 0;
    position_.correct = position_.predictions = 0;
  }
  position_.loss_sum += totals.loss * static_cast<double>(plan_.samples_per_step());
  position_.correct += std::llround(totals.correct);
  position_.predictions += std::llround(totals.predictions);
  position_.samples += plan_.samples_per_step();
  ++position_.step;
  position_.seconds = seconds_before_ + absl::ToDoubleSeconds(absl::Now() - started_);
  position_.unmeasured =
      position_.step % plan_.steps_per_epoch == 0 || position_.step == plan_.total_steps || MeasuresNow();
  report_.loss = totals.loss;
  report_.gradient_norm = norm;
  report_.lr = lr;
}

bool Run::MeasuresNow() const {
  // With held-out samples, the weights with the best score are chosen, so the last step's weights need a score, too.
  if (recipe_.validation_share() > 0 && position_.step == plan_.total_steps) return true;
  if (recipe_.evaluate_every_steps() > 0 && position_.step % recipe_.evaluate_every_steps() == 0) return true;
  const int64_t epoch = position_.step / plan_.steps_per_epoch;
  return recipe_.evaluate_every() > 0 && position_.step % plan_.steps_per_epoch == 0 &&
         epoch % recipe_.evaluate_every() == 0;
}

// Measures, reports the end of the epoch, and saves the state. Does each of these only if it is due.
absl::Status Run::AfterStep() {
  if (!position_.unmeasured) {
    const bool save = stopping_ || (options_.save_every_steps > 0 && position_.step % options_.save_every_steps == 0);
    return save ? Save() : absl::OkStatus();
  }
  // Saves the state before the measurement, which takes long. If the run is killed while it measures, the resumed run
  // measures again.
  RETURN_IF_ERROR(Save());
  std::string scores;
  if (MeasuresNow()) {
    absl::StatusOr<std::string> measured = MeasureNow();
    if (absl::IsCancelled(measured.status())) {
      stopping_ = true;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(measured.status());
    scores = *std::move(measured);
  }
  if (position_.step % plan_.steps_per_epoch == 0 || position_.step == plan_.total_steps) {
    for (Observer* observer : options_.observers) observer->OnEpoch({report_, scores});
  }
  position_.unmeasured = false;
  return Save();
}

absl::StatusOr<std::string> Run::MeasureNow() {
  // With several processes, measurements cannot be stopped: the other processes would consider this process lost.
  const std::atomic<bool>* const stop = group_.size() == 1 ? options_.stop : nullptr;
  const absl::Time start = absl::Now();
  const MeasureOptions how = {.threads = options_.threads, .stop = stop};
  ASSIGN_OR_RETURN(const Score score, task_.MeasureOn(MeasuredSplit::kValidation, Measured(), how));
  std::optional<Score> raw;
  if (average_) {
    ASSIGN_OR_RETURN(raw, task_.MeasureOn(MeasuredSplit::kValidation, *model_, how));
  }
  measuring_ += absl::Now() - start;
  RETURN_IF_ERROR(CheckNotDiverged(score));
  ScoreReport report{.step = position_.step, .epoch = Epochs(), .split = "", .score = score};
  report.split = recipe_.validation_share() > 0 ? "validation" : score.split;
  if (recipe_.validation_share() == 0 && position_.step == plan_.total_steps) measured_on_test_ = score;
  const double value = score.measures.front().value;
  report.best = !position_.best || (score.larger_is_better ? value > *position_.best : value < *position_.best);
  if (report.best) {
    position_.best = value;
    position_.best_step = position_.step;
    if (Leads()) RETURN_IF_ERROR(SaveBest(options_.work_dir, Measured()));
  }
  for (Observer* observer : options_.observers) observer->OnScore(report);
  const std::string words = ScoreInWords(report.split, score);
  if (!raw) return words;
  report = {.step = report.step, .epoch = report.epoch, .split = report.split + "-raw", .score = *raw};
  for (Observer* observer : options_.observers) observer->OnScore(report);
  return absl::StrCat(words, ", ", ScoreInWords(report.split, *raw));
}

// Updates report_ except the loss, the gradient norms and the learning rate, which Step and Count set.
void Run::UpdateReport(const BatchLoader& loader) {
  const absl::Duration running = absl::Now() - started_ - measuring_;
  const double seconds = std::max(1e-9, absl::ToDoubleSeconds(running));
  report_.step = position_.step;
  report_.total_steps = plan_.total_steps;
  report_.steps_per_epoch = plan_.steps_per_epoch;
  report_.epoch = Epochs();
  report_.epoch_loss = position_.loss_sum / static_cast<double>(SamplesOfEpoch());
  report_.epoch_accuracy = position_.predictions == 0
                               ? std::numeric_limits<double>::quiet_NaN()
                               : static_cast<double>(position_.correct) / static_cast<double>(position_.predictions);
  report_.samples = position_.samples;
  report_.samples_per_second = static_cast<double>(position_.samples - first_samples_) / seconds;
  report_.waited = loader.waited();
  report_.wait_share = absl::ToDoubleSeconds(loader.waited()) / seconds;
  const double left = static_cast<double>((plan_.total_steps - position_.step) * plan_.samples_per_step());
  report_.remaining = absl::Seconds(left / std::max(1e-9, report_.samples_per_second));
}

absl::StatusOr<TrainResult> Run::Result() {
  TrainResult result{.model = nullptr,
                     .position = position_,
                     .finished = position_.step >= plan_.total_steps && !position_.unmeasured,
                     .is_best = false,
                     .data_digest = task_.data_digest(),
                     .epoch_samples = SamplesOfEpoch(),
                     .score = measured_on_test_,
                     .epochs = Epochs(),
                     .samples = position_.samples,
                     .last_epoch = Epochs()};
  if (average_) {
    result.others.push_back({"raw", std::move(model_)});
    model_ = average_->Release();
  }
  // The best state is used only if it was chosen on held-out samples. Without held-out samples it was chosen on the
  // test split, so its score on that split would be too good.
  if (recipe_.validation_share() > 0 && position_.best) {
    result.others.push_back({"last", std::move(model_)});
    ASSIGN_OR_RETURN(model_, task_.MakeModel());
    if (Leads()) RETURN_IF_ERROR(LoadBest(options_.work_dir, *model_));
    result.is_best = true;
    result.epochs = static_cast<double>(position_.best_step) / static_cast<double>(plan_.steps_per_epoch);
    result.samples = position_.best_step * plan_.samples_per_step();
  }
  result.model = std::move(model_);
  return result;
}

}  // namespace

absl::Status CheckNotDiverged(const Score& score) {
  for (const Measure& measure : score.measures) {
    const bool absurd = measure.name == "loss" && measure.value > score.absurd_loss;
    if (std::isfinite(measure.value) && !absurd) continue;
    return absl::AbortedError(absl::StrFormat("the run has diverged: the %s on the %s split is %g%s", measure.name,
                                              score.split, measure.value, kBeginAgain));
  }
  return absl::OkStatus();
}

void SetComputeThreads(int threads) {
  at::set_num_threads(threads);
}

absl::StatusOr<TrainResult> Train(const v1::Recipe& recipe, const Task& task, const TrainOptions& options) {
  RETURN_IF_ERROR(ValidateRecipe(recipe));
  const int processes = options.communicator == nullptr ? 1 : options.communicator->size();
  ASSIGN_OR_RETURN(const StepPlan plan, PlanSteps(recipe, task.samples(), processes));
  if (const std::string smaller = SmallerStepWarning(recipe, plan, task.samples()); !smaller.empty()) {
    options.say(smaller);
  }
  if (const std::string left_out = LeftOutInWords(plan, task.samples()); !left_out.empty()) options.say(left_out);
  if (WarmsUpToTheEnd(recipe, plan)) {
    options.say("the learning rate warms up for the whole run: see schedule.warmup_steps and schedule.warmup_epochs");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Module> model, task.MakeModel());
  ASSIGN_OR_RETURN(std::vector<NamedTensor> trained, TrainedParameters(recipe.optimizer(), task, *model));
  if (const std::string frozen = FrozenInWords(*model, trained); !frozen.empty()) options.say(frozen);
  std::unique_ptr<Module> average;
  if (recipe.ema_decay() > 0) {
    ASSIGN_OR_RETURN(average, task.MakeModel());
  }
  SetComputeThreads(1);  // each replica has its own thread
  Run run(recipe, task, options, plan, std::move(model), std::move(trained), std::move(average));
  RETURN_IF_ERROR(run.Restore());
  RETURN_IF_ERROR(run.CheckStart());
  return run.ToTheEnd();
}

}  // namespace vitrine
