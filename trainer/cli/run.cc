// SPDX-License-Identifier: Apache-2.0
// `vitrine-train run`.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "models/repository/repository.h"
#include "trainer/cli/commands.h"
#include "trainer/lab/tasks/sequence_task.h"
#include "trainer/loop.h"
#include "trainer/publish/publish.h"
#include "trainer/recipe/recipe.h"
#include "trainer/recipe/recipe_data.h"
#include "trainer/run_result.h"
#include "trainer/scale_out/agreement.h"
#include "trainer/scale_out/gloo.h"
#include "trainer/scale_out/rendezvous.h"
#include "trainer/state.h"
#include "trainer/tasks/image_task.h"
#include "trainer/tasks/start.h"
#include "trainer/watch/event_file.h"
#include "trainer/watch/history_writer.h"
#include "trainer/watch/metrics_endpoint.h"
#include "trainer/watch/progress_bar.h"
#include "trainer/watch/report/training_report.h"
#include "trainer/watch/training_metrics.h"
#include "trainer/work_lock.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Upper bound of a version's bytes per parameter: fp32 weights plus goldens, which are much smaller.
constexpr int64_t kBytesPerParameter = 5;

// Recipe, task and data of a run. The splits are null for models of sequences.
struct Experiment {
  v1::Recipe recipe;
  std::string data;  // value of --data with its format; empty: the recipe generates its data
  std::unique_ptr<Dataset> train, test;
  std::unique_ptr<Task> task;
};

// All observers, in the order of construction.
struct Watchers {
  std::unique_ptr<ProgressBar> bar;
  std::unique_ptr<HistoryWriter> history;
  std::unique_ptr<EventFile> events;
  std::unique_ptr<TrainingMetrics> metrics;
  std::unique_ptr<MetricsEndpoint> endpoint;

  std::vector<Observer*> All() const { return {bar.get(), history.get(), events.get(), metrics.get()}; }
};

// Returns runs/NAME, or runs/NAME-2, -3, ... if that exists.
std::string NewWorkFolder(const std::string& name) {
  std::string folder = "runs/" + name;
  std::error_code ignored;
  for (int i = 2; fs::exists(folder, ignored); ++i) folder = absl::StrCat("runs/", name, "-", i);
  return folder;
}

std::string RevisionOf(const RunFlags& flags) {
  return flags.revision.empty() ? std::string(SourceRevision()) : flags.revision;
}

GoldenImages GoldenImagesOf(const RunFlags& flags) {
  return flags.golden == "synthetic" ? GoldenImages::kSynthetic : GoldenImages::kTest;
}

// Logs skipped data and images. DATA_LOSS if too many images cannot be decoded; the message lists these images. Warns
// if both splits have the same images.
absl::Status LogSkippedData(const v1::Recipe& recipe, const Experiment& experiment, const CorruptImages& corrupt,
                            Progress& progress) {
  std::vector<std::string> remarks = experiment.train->remarks();
  for (const std::string& remark : experiment.test->remarks()) {
    if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(remark);
  }
  for (const std::string& remark : remarks) progress.Line(remark);
  RETURN_IF_ERROR(corrupt.Judge(recipe.corrupt_limit()));
  for (const std::string& reason : corrupt.reasons()) progress.Line(absl::StrCat("left out: ", reason));
  if (!SameImages(*experiment.train, *experiment.test)) return absl::OkStatus();
  progress.Line(absl::StrCat(
      experiment.test->undivided()
          ? absl::StrCat(experiment.data, " has no test split")
          : absl::StrCat("the test split of ", experiment.data, " has the same images as the training split"),
      ": every accuracy is measured on the training images and labelled \"train\"; for a test accuracy, sort the ",
      "images into train/ and test/"));
  return absl::OkStatus();
}

absl::StatusOr<Experiment> OpenExperiment(const RunFlags& flags, Progress& progress) {
  Experiment experiment;
  ASSIGN_OR_RETURN(experiment.recipe, WrongCommandLine(ReadRecipe(flags.recipe, flags.overrides)));
  v1::Recipe before;
  if (flags.resume && !flags.work.empty() && HasState(flags.work)) {
    before = RecipeOfState(flags.work).value_or(before);  // if the state cannot be read, Train returns the error
  }
  RETURN_IF_ERROR(PinVersionsOfFlags(experiment.recipe, before));
  const v1::Recipe& recipe = experiment.recipe;
  if (recipe.has_sequence()) {
    if (!flags.publish.empty()) {
      return WrongCommandLine(absl::InvalidArgumentError(
          absl::StrCat("--publish: vitrine-server serves classifiers of images; \"", recipe.name(),
                       "\" trains a model of sequences; its weights stay in the work folder")));
    }
    experiment.data = flags.data;
    ASSIGN_OR_RETURN(experiment.task, MakeSequenceTask(recipe, flags.data));
    return experiment;
  }
  ASSIGN_OR_RETURN(experiment.data, WrongCommandLine(CompleteData(recipe, flags.data)));
  ASSIGN_OR_RETURN(const v1::Preprocessing preprocessing, ImageTask::PreprocessingOf(recipe));
  CorruptImages corrupt;
  ASSIGN_OR_RETURN(experiment.train, OpenSplit(recipe, experiment.data, Split::kTrain, preprocessing, !flags.no_cache,
                                               flags.threads, corrupt));
  ASSIGN_OR_RETURN(experiment.test, OpenSplit(recipe, experiment.data, Split::kTest, preprocessing, !flags.no_cache,
                                              flags.threads, corrupt));
  ASSIGN_OR_RETURN(experiment.train, OrderAsStart(recipe, std::move(experiment.train)));
  ASSIGN_OR_RETURN(experiment.test, OrderAsStart(recipe, std::move(experiment.test)));
  RETURN_IF_ERROR(LogSkippedData(recipe, experiment, corrupt, progress));
  ASSIGN_OR_RETURN(std::unique_ptr<ImageTask> task,
                   ImageTask::Make(recipe, *experiment.train, experiment.test.get(), flags.threads));
  for (const std::string& line : {task->SharedInWords(), task->StartInWords()}) {
    if (!line.empty()) progress.Line(line);
  }
  experiment.task = std::move(task);
  const std::string& digest = experiment.task->data_digest();
  if (!recipe.data().name().empty() && !IsKnown(recipe, digest)) {
    progress.Line(absl::StrCat(
        experiment.data, " is not known to be the recipe's data, ", recipe.data().name(),
        "; card and manifest will name the --data. If it is the recipe's data, --set data.digests=", digest));
  }
  return experiment;
}

absl::StatusOr<Watchers> OpenWatchers(const RunFlags& flags, const Experiment& experiment, Progress& progress) {
  std::error_code error;
  fs::create_directories(flags.work, error);
  if (error) return absl::FailedPreconditionError(absl::StrCat(flags.work, " cannot be created: ", error.message()));
  const auto warn = [&progress](const std::string& text) { progress.Line(text); };
  Watchers watchers;
  watchers.bar = std::make_unique<ProgressBar>(progress, experiment.task->samples_in_words());
  ASSIGN_OR_RETURN(watchers.history, HistoryWriter::Open(flags.work, warn));
  EventFile::Options events;
  events.folder = fs::path(flags.work) / "tensorboard";
  events.recipe = PrintRecipe(experiment.recipe);
  events.warn = warn;
  ASSIGN_OR_RETURN(watchers.events, EventFile::Open(std::move(events)));
  watchers.metrics = std::make_unique<TrainingMetrics>(experiment.recipe.name(), VITRINE_VERSION);
  if (!flags.metrics.empty()) {
    ASSIGN_OR_RETURN(watchers.endpoint, MetricsEndpoint::Start({.address = flags.metrics}, *watchers.metrics));
    progress.Line(absl::StrCat("metrics on http://", watchers.endpoint->address(), "/metrics"));
  }
  return watchers;
}

absl::StatusOr<std::unique_ptr<Communicator>> JoinGroup(const std::optional<Rendezvous>& rendezvous,
                                                        const Experiment& experiment) {
  if (!rendezvous) return std::make_unique<Alone>();
  ASSIGN_OR_RETURN(const std::unique_ptr<Module> model, experiment.task->MakeModel());
  RETURN_IF_ERROR(CheckParallel(*model, rendezvous->world_size));
  ConnectOptions options;
  options.agreement = absl::StrCat(PrintRecipe(experiment.recipe), experiment.task->data_digest());
  return Connect(*rendezvous, options);
}

// Publishes the model if --publish is given. Returns the provenance of the model, for the report.
absl::StatusOr<v1::Provenance> PublishVersion(const RunFlags& flags, const Experiment& experiment,
                                              const TrainResult& result, Progress& progress) {
  const RunOrigin origin = {.data = experiment.data,
                            .overrides = flags.overrides,
                            .source_revision = RevisionOf(flags),
                            .licence = flags.licence};
  if (flags.publish.empty()) {
    v1::Provenance provenance = MakeProvenance(experiment.recipe, result, origin);
    if (const auto* model = dynamic_cast<const Model*>(result.model.get())) {
      RETURN_IF_ERROR(AddAncestors(experiment.recipe, *model, provenance));
    }
    return provenance;
  }
  PublishOptions publish;
  publish.repository = flags.publish;
  publish.model = flags.name;
  publish.origin = origin;
  publish.golden = GoldenImagesOf(flags);
  publish.threads = flags.threads;
  publish.stop = InterruptedFlag();
  publish.progress = &progress;
  ASSIGN_OR_RETURN(const VersionId id,
                   PublishResult(experiment.recipe, result, *experiment.train, *experiment.test, publish));
  std::cout << flags.publish << "/" << id.model << "/" << id.version << std::endl;
  ASSIGN_OR_RETURN(const v1::Manifest manifest, ReadManifest(flags.publish, id));
  return manifest.provenance();
}

absl::Status Report(const RunFlags& flags, const Experiment& experiment, const TrainResult& result, const Score& test,
                    const v1::Provenance& provenance, Progress& progress) {
  TrainingReportInput input;
  input.name = flags.name;
  input.recipe = experiment.recipe;
  input.score = test;
  input.provenance = provenance;
  input.samples_in_words = experiment.task->samples_in_words();
  ASSIGN_OR_RETURN(input.history, ReadHistory(flags.work));
  ASSIGN_OR_RETURN(input.steps, ReadSteps(flags.work));
  input.model = dynamic_cast<const Model*>(result.model.get());
  input.test = experiment.test.get();
  input.threads = flags.threads;
  input.stop = InterruptedFlag();
  const fs::path page = fs::path(flags.work) / "report.html";
  progress.Line("examining the model for the report");
  RETURN_IF_ERROR(WriteTrainingReport(input, page));
  progress.Line(absl::StrCat("report: ", page.string()));
  return absl::OkStatus();
}

absl::StatusOr<Score> MeasureTest(const RunFlags& flags, const Task& task, const Module& model, Progress& progress) {
  MeasureOptions options;
  options.threads = flags.threads;
  options.stop = InterruptedFlag();
  options.progress = progress.Measuring("model", task.samples_in_words());
  return task.MeasureOn(MeasuredSplit::kTest, model, options);
}

// Returns the score of the result. If the training has not measured the score, measures it and reports it to the
// observers, with the training step that produced the weights.
absl::StatusOr<Score> FinalScore(const RunFlags& flags, const Experiment& experiment, const TrainResult& result,
                                 const std::vector<Observer*>& observers, Progress& progress) {
  if (result.score) return *result.score;  // this score is already checked and reported to the observers
  ASSIGN_OR_RETURN(Score test, MeasureTest(flags, *experiment.task, *result.model, progress));
  RETURN_IF_ERROR(CheckNotDiverged(test));
  const ScoreReport report{.step = result.is_best ? result.position.best_step : result.position.step,
                           .epoch = result.epochs,
                           .split = test.split,
                           .score = test};
  for (Observer* observer : observers) observer->OnScore(report);
  return test;
}

absl::Status Finish(const RunFlags& flags, const Experiment& experiment, const TrainResult& result,
                    const std::vector<Observer*>& observers, Progress& progress) {
  ASSIGN_OR_RETURN(const Score test, FinalScore(flags, experiment, result, observers, progress));
  progress.Line(absl::StrCat(result.is_best ? "best model: " : "model: ", ScoreInWords(test.split, test)));
  std::vector<Score> scores = {test};
  for (const OtherWeights& other : result.others) {
    ASSIGN_OR_RETURN(Score score, MeasureTest(flags, *experiment.task, *other.model, progress));
    absl::StrAppend(&score.split, "-", other.name);
    progress.Line(ScoreInWords(score.split, score));
    scores.push_back(std::move(score));
  }
  RETURN_IF_ERROR(WriteRunResult(flags.work, experiment.recipe, result, scores, RevisionOf(flags)));
  ASSIGN_OR_RETURN(const v1::Provenance provenance, PublishVersion(flags, experiment, result, progress));
  return flags.no_report ? absl::OkStatus() : Report(flags, experiment, result, test, provenance, progress);
}

}  // namespace

absl::Status RunRecipe(RunFlags flags) {
  RETURN_IF_ERROR(WrongCommandLine(ApplyShortFlags(flags)));
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  ASSIGN_OR_RETURN(const std::optional<Rendezvous> rendezvous,
                   ReadRendezvous([](const char* name) { return static_cast<const char*>(std::getenv(name)); }));
  // If a process is lost, torchrun restarts all processes. They then continue from the state.
  if (rendezvous && rendezvous->restarts > 0) flags.resume = true;
  ASSIGN_OR_RETURN(const Experiment experiment, OpenExperiment(flags, progress));
  if (flags.name.empty()) flags.name = experiment.recipe.name();
  if (flags.work.empty()) flags.work = NewWorkFolder(experiment.recipe.name());
  if (!flags.publish.empty()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Module> model, experiment.task->MakeModel());
    RETURN_IF_ERROR(CheckPublishable(flags.publish, flags.name, kBytesPerParameter * model->CountParameters()));
    // Makes the goldens of the untrained model and discards them, so that an error appears before the training.
    RETURN_IF_ERROR(
        MakeGoldens(experiment.recipe, dynamic_cast<const Model&>(*model), *experiment.test, GoldenImagesOf(flags))
            .status());
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> group, JoinGroup(rendezvous, experiment));
  const bool leads = group->rank() == 0;
  TrainOptions options;
  options.work_dir = flags.work;
  options.resume = flags.resume;
  options.threads = flags.threads;
  options.loader_threads = flags.loader_threads;
  options.save_every_steps = flags.save_every;
  options.stop = InterruptedFlag();
  options.communicator = group.get();
  Watchers watchers;
  std::optional<WorkLock> lock;
  if (leads) {
    ASSIGN_OR_RETURN(lock, WorkLock::Take(flags.work));
    progress.Line(absl::StrFormat("%s: %d %s to train on, %d threads%s, in %s", experiment.recipe.name(),
                                  experiment.task->samples(), experiment.task->samples_in_words(), flags.threads,
                                  group->size() > 1 ? absl::StrCat(" in each of ", group->size(), " processes") : "",
                                  flags.work));
    options.say = [&progress](const std::string& text) { progress.Line(text); };
    RETURN_IF_ERROR(CheckWorkFolder(flags.work, flags.resume));
    ASSIGN_OR_RETURN(watchers, OpenWatchers(flags, experiment, progress));
    options.observers = watchers.All();
  }
  ASSIGN_OR_RETURN(const TrainResult result, Train(experiment.recipe, *experiment.task, options));
  progress.Finish();
  if (!leads) return absl::OkStatus();
  if (!result.finished) {
    // This is an error, so that the caller (for instance a Kubernetes Job) does not consider the run finished.
    return absl::CancelledError(absl::StrFormat("stopped after %.2f of %.2f epochs; continue with:\n  %s",
                                                result.last_epoch, experiment.recipe.epochs(),
                                                HowToResume(flags, experiment.recipe)));
  }
  const absl::Status finished = Finish(flags, experiment, result, options.observers, progress);
  if (!absl::IsCancelled(finished)) return finished;
  return absl::CancelledError(
      absl::StrCat("stopped after the last step, before everything was written; continue with:\n  ",
                   HowToResume(flags, experiment.recipe)));
}

}  // namespace vitrine
