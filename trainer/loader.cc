#include "trainer/loader.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "trainer/augment/view.h"
#include "trainer/sampler.h"

namespace vitrine {
namespace {

struct Sample {
  int64_t index = 0;
  Image picture;
  View view;
};

absl::StatusOr<Sample> DrawSample(const Dataset& data, const v1::Recipe& recipe, const v1::Preprocessing& preprocessing,
                                  int64_t epoch, int64_t index) {
  Sample sample;
  sample.index = index;
  ASSIGN_OR_RETURN(sample.picture, data.image(index));
  const Size picture{sample.picture.height, sample.picture.width};
  CounterRandom random(recipe.seed(), epoch, index);
  ASSIGN_OR_RETURN(const Size size, DrawSize(recipe, preprocessing, picture, random));
  sample.view = DrawView(recipe.augmentation(), picture, size, random);
  return sample;
}

}  // namespace

absl::StatusOr<TrainingBatch> MakeBatch(const Dataset& data, const v1::Recipe& recipe,
                                        const v1::Preprocessing& preprocessing, const StepPlan& plan, int64_t step,
                                        const std::vector<int64_t>& epoch_order) {
  const int64_t epoch = step / plan.steps_per_epoch;
  const int64_t first = step % plan.steps_per_epoch * plan.batch;
  std::vector<Sample> samples;
  for (int64_t i = first; i < first + plan.batch; ++i) {
    ASSIGN_OR_RETURN(Sample sample, DrawSample(data, recipe, preprocessing, epoch, epoch_order[i]));
    samples.push_back(std::move(sample));
  }
  // Neighbours of equal size share batched calls.
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::pair(a.view.size.height, a.view.size.width) < std::pair(b.view.size.height, b.view.size.width);
  });
  TrainingBatch batch;
  batch.labels = at::empty({plan.batch}, at::kLong);
  for (int64_t i = 0; i < plan.batch; ++i) {
    const Sample& sample = samples[i];
    batch.labels.mutable_data_ptr<int64_t>()[i] = data.label(sample.index);
    const std::vector<float> values = RenderView(sample.picture, sample.view, preprocessing);
    at::Tensor image =
        at::empty({preprocessing.channels(), sample.view.size.height, sample.view.size.width}, at::kFloat);
    std::copy(values.begin(), values.end(), image.mutable_data_ptr<float>());
    batch.images.push_back(std::move(image));
  }
  return batch;
}

BatchLoader::BatchLoader(const Dataset& data, const v1::Recipe& recipe, const v1::Preprocessing& preprocessing,
                         const StepPlan& plan, int64_t first_step, const Options& options)
    : data_(data),
      recipe_(recipe),
      preprocessing_(preprocessing),
      plan_(plan),
      ahead_(std::max(1, options.ahead)),
      started_(first_step),
      wanted_(first_step) {
  for (int i = 0; i < std::max(1, options.threads); ++i) threads_.emplace_back([this] { Work(); });
}

BatchLoader::~BatchLoader() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

bool BatchLoader::MayStart() const {
  return stopping_ || started_ >= plan_.total_steps || started_ < wanted_ + ahead_;
}

void BatchLoader::Work() {
  int64_t order_epoch = -1;
  std::vector<int64_t> order;
  while (true) {
    int64_t step;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &BatchLoader::MayStart));
      if (stopping_ || started_ >= plan_.total_steps) return;
      step = started_++;
    }
    if (const int64_t epoch = step / plan_.steps_per_epoch; epoch != order_epoch) {
      order = EpochOrder(recipe_.seed(), epoch, data_.size());
      order_epoch = epoch;
    }
    absl::StatusOr<TrainingBatch> batch = MakeBatch(data_, recipe_, preprocessing_, plan_, step, order);
    absl::MutexLock lock(&mutex_);
    made_.emplace(step, std::move(batch));
  }
}

absl::StatusOr<TrainingBatch> BatchLoader::Next() {
  const absl::Time start = absl::Now();
  absl::MutexLock lock(&mutex_);
  if (wanted_ >= plan_.total_steps) return absl::OutOfRangeError("the last step's batch was handed out before");
  mutex_.Await(absl::Condition(this, &BatchLoader::NextIsMade));
  waited_ += absl::Now() - start;
  return std::move(made_.extract(wanted_++).mapped());
}

}  // namespace vitrine
