// SPDX-License-Identifier: Apache-2.0
#include "trainer/tasks/image_task.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/data/subset.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"
#include "models/repository/labels.h"
#include "trainer/augment/input.h"
#include "trainer/augment/mixing.h"
#include "trainer/augment/repeats.h"
#include "trainer/evaluate.h"
#include "trainer/optimise/loss.h"
#include "trainer/recipe/recipe.h"
#include "trainer/sampler.h"
#include "trainer/tasks/start.h"
#include "trainer/tasks/start_config.h"

namespace vitrine {
namespace {

// Reserved epoch number for the random stream that draws the held-out samples. No run reaches this epoch.
constexpr uint64_t kHoldOutEpoch = ~uint64_t{0};

// A run counts as diverged if its loss is above this multiple of log(classes), the loss of uniform guessing.
constexpr double kAbsurdLosses = 100;

// Returns a pointer that does not own the data set.
std::shared_ptr<const Dataset> Borrowed(const Dataset& data) {
  return {std::shared_ptr<void>(), &data};
}

// Input and label of one member.
struct Sample {
  TrainingInput input;
  int label = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageTask>> ImageTask::Make(const v1::Recipe& recipe, const Dataset& train,
                                                           const Dataset* test, int threads) {
  std::optional<StoredVersion> start;
  if (recipe.has_start()) {
    ASSIGN_OR_RETURN(start, ReadVersionAt(recipe.start().version()));
  }
  ASSIGN_OR_RETURN(
      v1::ModelConfig config,
      start ? ConfigFrom(start->manifest, recipe, static_cast<int>(train.labels().size())) : ConfigOf(recipe));
  std::unique_ptr<ImageTask> task(new ImageTask(recipe, std::move(config), test));
  task->start_ = std::move(start);
  RETURN_IF_ERROR(task->CheckFit(train));
  RETURN_IF_ERROR(task->HoldOut(train));
  RETURN_IF_ERROR(task->CheckStart(train));
  task->has_test_split_ = test != nullptr && !SameImages(train, *test);
  if (recipe.has_distillation()) {
    ASSIGN_OR_RETURN(task->teacher_, Teacher::Make(recipe.distillation(), task->config_, train.labels(), recipe));
  }
  RETURN_IF_ERROR(task->MakeModel().status());
  ASSIGN_OR_RETURN(const std::vector<std::string> train_images, ImageDigestsOf(train, threads));
  task->data_digest_ = ContentDigestOf(train, train_images);
  if (task->has_test_split_) {
    ASSIGN_OR_RETURN(const std::vector<std::string> test_images, ImageDigestsOf(*test, threads));
    task->shared_images_ = CountShared(test_images, train_images);
  }
  return task;
}

absl::StatusOr<v1::Preprocessing> ImageTask::PreprocessingOf(const v1::Recipe& recipe) {
  if (!recipe.has_start()) {
    ASSIGN_OR_RETURN(const v1::ModelConfig config, ConfigOf(recipe));
    return config.preprocessing();
  }
  ASSIGN_OR_RETURN(const StoredVersion start, ReadVersionAt(recipe.start().version()));
  ASSIGN_OR_RETURN(const v1::ModelConfig config, ConfigFrom(start.manifest, recipe, start.manifest.config().classes()));
  return config.preprocessing();
}

absl::Status ImageTask::CheckStart(const Dataset& train) {
  if (!start_) return absl::OkStatus();
  replaces_head_ = ReplacesHead(recipe_, start_->labels, train.labels());
  if (!replaces_head_ && !SameNames(start_->labels, train.labels())) {
    return absl::InvalidArgumentError(absl::StrCat("start.version: ", recipe_.start().version(),
                                                   " has other classes than the data; set "
                                                   "start.replace_head"));
  }
  ASSIGN_OR_RETURN(head_, HeadOf(config_));
  return absl::OkStatus();
}

std::string ImageTask::SharedInWords() const {
  if (shared_images_ == 0) return "";
  return absl::StrCat(shared_images_, " of ", test_->size(), " test images ", shared_images_ == 1 ? "is" : "are",
                      " also in the training split, with the same bytes, which raises the test accuracy; remove ",
                      shared_images_ == 1 ? "it" : "them", " from one of the splits");
}

std::string ImageTask::ModelInWords() const {
  return recipe_.model().empty() ? absl::StrCat("the model of ", NameOf(start_->manifest))
                                 : absl::StrCat("the model ", recipe_.model());
}

// Checks that the recipe's sizes equal the model's size if that size is fixed.
absl::Status ImageTask::CheckSizes() const {
  if (!config_.preprocessing().has_fixed()) return absl::OkStatus();
  const v1::FixedResolution& fixed = config_.preprocessing().fixed();
  for (const v1::TrainingSize& size : recipe_.sizes()) {
    if (size.height() == fixed.height() && size.width() == fixed.width()) continue;
    const bool kept = start_ && !recipe_.start().replace_preprocessing();
    return absl::InvalidArgumentError(
        absl::StrCat("sizes has ", ToString({size.height(), size.width()}), ", but ",
                     kept ? absl::StrCat(NameOf(start_->manifest), " with its preprocessing") : ModelInWords(),
                     " uses every image at ", ToString({fixed.height(), fixed.width()}),
                     "; sizes are for models of native resolution: remove them with --set sizes=[]",
                     kept ? ", or use another preprocessing: --set start.replace_preprocessing=true" : ""));
  }
  return absl::OkStatus();
}

absl::Status ImageTask::CheckFit(const Dataset& train) const {
  if (test_ != nullptr && test_->labels().size() > train.labels().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the test split has the class \"",
                                                   test_->labels()[train.labels().size()],
                                                   "\", which the training split does not have; rename the class in "
                                                   "one of the splits, or remove it"));
  }
  if (const auto published = FormatLabels(train.labels()); !published.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the labels of a version cannot be the data's classes: ", published.status().message(), "; rename the class"));
  }
  if (train.labels().size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the data has one class, ", absl::StrJoin(train.labels(), ""),
                     ", but at least two are needed; a folder of images has one folder per "
                     "class"));
  }
  for (const Dataset* data : {&train, test_}) {
    if (data == nullptr) continue;
    if (data->size() == 0) return absl::InvalidArgumentError("the data set is empty");
    if (static_cast<int>(data->labels().size()) != config_.classes()) {
      return absl::InvalidArgumentError(absl::StrCat("the data has ", data->labels().size(), " classes, but ",
                                                     ModelInWords(), " has ", config_.classes(),
                                                     "; set model_overrides.classes=", data->labels().size(),
                                                     start_ ? " and start.replace_head=true; the recipe finetune sets "
                                                              "both"
                                                            : ""));
    }
    for (int64_t i = 0; i < data->size(); ++i) {
      if (data->label(i) >= 0 && data->label(i) < config_.classes()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(data->name(i), " has label ", data->label(i), "; allowed: 0 to ", config_.classes() - 1));
    }
  }
  RETURN_IF_ERROR(CheckSizes());
  ASSIGN_OR_RETURN(const std::unique_ptr<vitrine::Model> shapes, vitrine::MakeModel(config_, 0, at::kMeta));
  for (const v1::TrainingSize& size : recipe_.sizes()) {
    RETURN_IF_ERROR(shapes->GridFor(size.height(), size.width()).status());
  }
  for (const std::string& text : recipe_.evaluation_sizes()) {
    ASSIGN_OR_RETURN(const Size size, ParseSize(text));
    RETURN_IF_ERROR(shapes->GridFor(size.height, size.width).status());
  }
  return absl::OkStatus();
}

absl::Status ImageTask::HoldOut(const Dataset& train) {
  std::vector<int64_t> all(train.size());
  std::iota(all.begin(), all.end(), 0);
  const double share = recipe_.validation_share();
  const auto held = static_cast<int64_t>(share * static_cast<double>(train.size()));
  if (share > 0 && held == 0) {
    const double least = std::ceil(1e6 / static_cast<double>(train.size())) / 1e6;
    return absl::InvalidArgumentError(
        absl::StrFormat("validation_share: %g of %d images holds out none; at least %g", share, train.size(), least));
  }
  if (held > 0) {
    const std::vector<int64_t> order = EpochOrder(recipe_.seed(), kHoldOutEpoch, train.size());
    std::vector<int64_t> held_out(order.begin(), order.begin() + held);
    all.assign(order.begin() + held, order.end());
    std::sort(all.begin(), all.end());
    std::sort(held_out.begin(), held_out.end());
    held_out_ = MakeSubset(Borrowed(train), std::move(held_out));
  }
  training_ = MakeSubset(Borrowed(train), std::move(all));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Module>> ImageTask::MakeModel() const {
  ASSIGN_OR_RETURN(std::unique_ptr<vitrine::Model> model, vitrine::MakeModel(config_, recipe_.seed()));
  if (start_) RETURN_IF_ERROR(StartFrom(*start_, replaces_head_, *model));
  return model;
}

std::string ImageTask::StartInWords() const {
  if (!start_) return "";
  const v1::Start& start = recipe_.start();
  const std::vector<std::string>& labels = start_->labels;
  const size_t count = config_.classes();
  const bool same = SameNames(labels, training_->labels());
  const std::string classes = count != labels.size() ? absl::StrCat(count, " classes instead of ", labels.size())
                                                     : absl::StrCat(count, same ? " classes" : " other classes");
  return absl::StrCat("starts from ", NameOf(start_->manifest), ", weights ", start_->weights_sha256.substr(0, 12),
                      "; preprocessing: ", start.replace_preprocessing() ? "the recipe's" : "the version's", "; head: ",
                      replaces_head_ ? absl::StrCat("new random weights, ", classes)
                                     : absl::StrCat("the version's, ", labels.size(), " classes"),
                      start.freeze_body() ? "; only the head is trained" : "");
}

bool ImageTask::Trains(const std::string& parameter) const {
  return !recipe_.start().freeze_body() || head_.contains(parameter);
}

std::vector<Member> ImageTask::EpochMembers(int64_t epoch) const {
  return MembersOf(recipe_.seed(), epoch, training_->size(), recipe_.augmentation().repeats());
}

absl::StatusOr<TrainingBatch> ImageTask::MakeBatch(int64_t epoch, int64_t index,
                                                   std::span<const Member> members) const {
  const v1::Preprocessing& preprocessing = config_.preprocessing();
  std::vector<Sample> samples;
  for (const Member& member : members) {
    ASSIGN_OR_RETURN(const Image decoded, training_->image(member.sample));
    CounterRandom random = RandomOf(recipe_.seed(), epoch, member);
    ASSIGN_OR_RETURN(TrainingInput input, DrawInput(decoded, recipe_, preprocessing, random));
    samples.push_back({std::move(input), training_->label(member.sample)});
  }
  // Sorts by size, because the model computes adjacent images of equal size together.
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::pair(a.input.size.height, a.input.size.width) < std::pair(b.input.size.height, b.input.size.width);
  });
  TrainingBatch batch;
  batch.samples = static_cast<int64_t>(members.size());
  batch.labels = at::empty({batch.samples}, at::kLong);
  for (int64_t i = 0; i < batch.samples; ++i) {
    const auto& [size, values] = samples[i].input;
    batch.labels.mutable_data_ptr<int64_t>()[i] = samples[i].label;
    at::Tensor image = at::empty({preprocessing.channels(), size.height, size.width}, at::kFloat);
    std::copy(values.begin(), values.end(), image.mutable_data_ptr<float>());
    batch.images.push_back(std::move(image));
  }
  if (Mixes(recipe_.mixing())) {
    CounterRandom random = RandomOfBatch(recipe_.seed(), epoch, index);
    MixBatch(recipe_.mixing(), recipe_.label_smoothing(), config_.classes(), random, batch);
  }
  if (teacher_ != nullptr) {
    ASSIGN_OR_RETURN(batch.teacher_labels, teacher_->Label(batch.images));
  }
  return batch;
}

BatchLoss ImageTask::Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const {
  ForwardContext own = context;
  if (recipe_.start().freeze_body()) own.training = false;  // no dropout, and BatchNorm's stored statistics
  const at::Tensor logits = dynamic_cast<const vitrine::Model&>(model).Forward(batch.images, own);
  BatchLoss result;
  result.loss = batch.targets.defined() ? SoftTargetLoss(logits, batch.targets)
                                        : ClassificationLoss(logits, batch.labels, recipe_.label_smoothing());
  if (batch.teacher_labels.defined()) {
    const double weight = teacher_->weight();
    result.loss = result.loss * (1 - weight) + ClassificationLoss(logits, batch.teacher_labels, 0) * weight;
  }
  result.correct = CountCorrect(logits.detach(), batch.labels);
  result.predictions = batch.samples;
  return result;
}

absl::StatusOr<Score> ImageTask::MeasureOn(MeasuredSplit split, const Module& model,
                                           const MeasureOptions& options) const {
  const Dataset* data = split == MeasuredSplit::kValidation && held_out_ != nullptr ? held_out_.get() : test_;
  if (data == nullptr) return absl::FailedPreconditionError("there is no test split to measure on");
  std::optional<Size> size;
  if (!recipe_.evaluation_sizes().empty()) {
    ASSIGN_OR_RETURN(size, ParseSize(recipe_.evaluation_sizes(0)));
  }
  ASSIGN_OR_RETURN(const Accuracy accuracy, Evaluate(dynamic_cast<const vitrine::Model&>(model), *data, size,
                                                     {.crop = EvaluationCrop(recipe_),
                                                      .threads = options.threads,
                                                      .stop = options.stop,
                                                      .progress = options.progress}));
  return Score{.measures = {{"top1", accuracy.top1()}, {"loss", accuracy.loss}},
               .samples = accuracy.images,
               .split = has_test_split_ ? "test" : "train",
               .absurd_loss = kAbsurdLosses * std::log(config_.classes())};
}

}  // namespace vitrine
