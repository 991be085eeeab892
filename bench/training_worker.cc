// SPDX-License-Identifier: Apache-2.0
// Runs training steps on command (see work.h).
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/work.h"
#include "common/status_macros.h"
#include "models/reference/initializer.h"
#include "models/reference/model.h"
#include "models/zoo.h"
#include "trainer/optimise/loss.h"
#include "trainer/optimise/optimizer.h"
#include "trainer/replicas.h"
#include "trainer/task.h"

namespace vitrine {
namespace {

constexpr uint64_t kSeed = 20240229;
// Learning rate with which thousands of steps hardly change the weights.
constexpr double kLearningRate = 1e-5;

// Model and batch of a benchmark.
struct TrainingCase {
  std::string model;               // zoo variant
  std::vector<std::string> sizes;  // "HEIGHTxWIDTH:COUNT", equal sizes adjacent in the batch
  bool bf16 = false;
  int threads = 1;  // replicas of the model
};

struct Size {
  int height = 0, width = 0, count = 0;
};

absl::StatusOr<Size> ParseSize(const std::string& text) {
  Size size;
  if (std::sscanf(text.c_str(), "%dx%d:%d", &size.height, &size.width, &size.count) != 3) {
    return absl::InvalidArgumentError(absl::StrCat(text, " is no size with a count; write HEIGHTxWIDTH:COUNT"));
  }
  return size;
}

absl::StatusOr<TrainingBatch> DrawBatch(const Model& model, const std::vector<std::string>& sizes) {
  Initializer initializer(kSeed, at::kCPU);
  const int channels = model.config().preprocessing().channels();
  TrainingBatch batch;
  for (const std::string& text : sizes) {
    ASSIGN_OR_RETURN(const Size size, ParseSize(text));
    for (int i = 0; i < size.count; ++i) {
      ++batch.samples;
      batch.images.push_back(initializer.Normal({channels, size.height, size.width}, 1));
    }
  }
  batch.labels = at::empty({batch.samples}, at::kLong);
  for (int64_t i = 0; i < batch.samples; ++i) batch.labels.data_ptr<int64_t>()[i] = i * 7 % model.config().classes();
  return batch;
}

// Classification of random images. Implements only the functions of Task that Replicas calls.
class DrawnImages : public Task {
 public:
  explicit DrawnImages(v1::ModelConfig config) : config_(std::move(config)) {}

  absl::StatusOr<std::unique_ptr<Module>> MakeModel() const override { return vitrine::MakeModel(config_, kSeed); }
  BatchLoss Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const override {
    const at::Tensor logits = dynamic_cast<const Model&>(model).Forward(batch.images, context);
    return {ClassificationLoss(logits, batch.labels, /*label_smoothing=*/0), CountCorrect(logits, batch.labels),
            batch.samples};
  }

  std::string samples_in_words() const override { return "images"; }
  int64_t samples() const override { return 0; }
  const std::string& data_digest() const override { return no_digest_; }
  std::vector<Member> EpochMembers(int64_t /*epoch*/) const override { return {}; }
  absl::StatusOr<TrainingBatch> MakeBatch(int64_t /*epoch*/, int64_t /*index*/,
                                          std::span<const Member> /*members*/) const override {
    return absl::UnimplementedError("the batch is drawn once");
  }
  absl::StatusOr<Score> MeasureOn(MeasuredSplit /*split*/, const Module& /*model*/,
                                  const MeasureOptions& /*options*/) const override {
    return absl::UnimplementedError("drawn images measure nothing");
  }

 private:
  const v1::ModelConfig config_;
  const std::string no_digest_;
};

// Runs whole steps on one batch: forward, backward, AdamW.
class Training {
 public:
  static absl::StatusOr<std::shared_ptr<Training>> Make(const TrainingCase& wanted) {
    ASSIGN_OR_RETURN(const ZooRow row, FindVariant(wanted.model));
    auto training = std::shared_ptr<Training>(new Training(row.config));
    ASSIGN_OR_RETURN(training->model_, MakeModel(row.config, kSeed));
    training->model_->RequireGrad(true);
    ASSIGN_OR_RETURN(training->batch_, DrawBatch(*training->model_, wanted.sizes));
    ASSIGN_OR_RETURN(training->replicas_, Replicas::Make(training->task_, *training->model_, wanted.threads));
    v1::Optimizer settings;
    settings.set_kind(v1::Optimizer::ADAMW);
    settings.set_weight_decay(0.05);
    training->optimizer_ = std::make_unique<Optimizer>(settings, training->model_->Parameters());
    training->context_.training = true;
    training->context_.bf16 = wanted.bf16;
    return training;
  }

  absl::Status Step() {
    replicas_->ClearGradients();
    ASSIGN_OR_RETURN(const StepOutcome outcome, replicas_->AddGradients(batch_, context_));
    if (!first_loss_) first_loss_ = outcome.loss;
    optimizer_->Step(kLearningRate);
    return absl::OkStatus();
  }

  int images() const { return static_cast<int>(batch_.samples); }
  double first_loss() const { return first_loss_.value_or(0); }

 private:
  explicit Training(const v1::ModelConfig& config) : task_(config) {}

  const DrawnImages task_;
  std::unique_ptr<Model> model_;
  TrainingBatch batch_;
  ForwardContext context_;
  std::unique_ptr<Replicas> replicas_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<double> first_loss_;
};

// Returns the work of training steps on one batch in memory: forward, backward and AdamW. Images, weights and labels
// are drawn from a fixed seed. The result is the loss of the first step.
absl::StatusOr<Work> TrainingWork(const TrainingCase& wanted) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Training> training, Training::Make(wanted));
  Work work;
  work.description = absl::StrCat("training steps of ", wanted.model, ", a batch of ", training->images());
  work.images = training->images();
  work.repeat = [training] { return training->Step(); };
  work.results = [training] { return std::vector<std::string>{absl::StrFormat("%.9g", training->first_loss())}; };
  return work;
}

int Main(int argc, char** argv) {
  at::set_num_threads(1);  // each replica has its own thread
  // Keeps freed memory, so that each step reuses the memory of the previous step, as in vitrine-train.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_ARENA_MAX, 1);
  TrainingCase wanted;
  CLI::App app("Takes training steps on one drawn batch.", "bench_training_worker");
  app.add_option("--model", wanted.model, "a variant of the zoo")->required();
  app.add_option("--sizes", wanted.sizes, "HEIGHTxWIDTH:COUNT, each")->required();
  app.add_option("--threads", wanted.threads, "replicas of the model");
  app.add_flag("--bf16", wanted.bf16, "operands of products in bf16");
  CLI11_PARSE(app, argc, argv);
  return Serve("bench_training_worker", TrainingWork(wanted));
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
