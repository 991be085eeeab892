// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_GPU_CHECK_MEASUREMENTS_H_
#define VITRINE_BENCH_GPU_CHECK_MEASUREMENTS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/gpu_check/checks.h"
#include "bench/gpu_check/subject.h"
#include "models/engine/cuda/launches/batch_rows.h"

namespace vitrine {

// Models, precisions and batch sizes; every combination is measured.
struct MeasuredSetting {
  std::vector<std::string> models = {};  // names of rows of the zoo or of SmallForms; weights are random
  std::vector<Precision> precisions = {};
  std::vector<int> batches = {};                    // images per batch
  int passes = 20;                                  // timed passes of ProfileModels
  int threads = 8;                                  // threads of MeasureThroughput
  absl::Duration window = absl::Milliseconds(500);  // length of each window of MeasureThroughput
};

// A model to measure, with images. The images have the model's fixed size or its SmallForm's size; if it has neither,
// 224 x 224.
struct Measured {
  Subject subject;
  std::vector<FloatArray> images;  // one batch
};
absl::StatusOr<Measured> MakeMeasured(const std::string& model, int batch);

// Returns the smallest limits that admit the images in one batch.
cuda::BatchLimits LimitsFor(const Measured& measured);
// Returns the bytes of pinned memory for the pixels of a batch and the data uploaded with them.
size_t StagingFor(const cuda::BatchLimits& limits);

// Measures the time of every kernel, of the CUDA graph, of the copies and of a whole batch.
void ProfileModels(const CheckSetting& setting, const MeasuredSetting& measured, CheckReport& report);

// Measures images per second with two slots (cuda::driver::Slot). The threads pass images that are already in memory.
void MeasureThroughput(const CheckSetting& setting, const MeasuredSetting& measured, CheckReport& report);

// Measures the rate of copies from pinned memory to the device in bytes/s, which limits the images/s.
absl::StatusOr<double> CopyRate(cuda::driver::Card& card);

double MedianOf(std::vector<double> values);  // requires at least one value

}  // namespace vitrine

#endif  // VITRINE_BENCH_GPU_CHECK_MEASUREMENTS_H_
