// SPDX-License-Identifier: Apache-2.0
// Launches of attention on an emulated device, without a model: fast kernels beside plain ones.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_ATTENTION_RIG_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_ATTENTION_RIG_H_

#include <string>
#include <vector>

#include "models/engine/cuda/emulated/emulated_device.h"
#include "models/engine/cuda/kernels/arguments.h"

namespace vitrine::testing {

// Images of given numbers of cells, and rows of theirs on the device.
class AttentionRig {
 public:
  AttentionRig(std::vector<int> cells, const cuda::emulated::MachineOptions& options = {});

  const cuda::Batch& batch() const { return batch_; }
  int images() const { return static_cast<int>(cells_.size()); }
  int64_t Rows(cuda::RowsOf rows) const { return FirstRow(rows, images()); }
  int64_t FirstRow(cuda::RowsOf rows, int image) const;

  // Returns random rows, which are the same for images of equal numbers of cells in any batch.
  std::vector<float> Random(cuda::RowsOf rows, int columns, uint64_t seed) const;
  cuda::Matrix Upload(const std::vector<float>& values, cuda::RowsOf rows, int columns);
  // Returns a narrow matrix of the rounded values.
  cuda::Matrix UploadNarrow(const std::vector<float>& values, cuda::RowsOf rows, int columns);
  // Replaces q, k and v by the columns of a narrow matrix of the rounded values, and makes y narrow.
  template <class Arguments>
  void MakeNarrow(const std::vector<float>& qkv, Arguments& arguments) {
    const int columns = arguments.q.columns;
    const cuda::Matrix all = UploadNarrow(qkv, arguments.q.rows, 3 * columns);
    auto* data = reinterpret_cast<uint16_t*>(all.data);
    for (cuda::Matrix* const of : {&arguments.q, &arguments.k, &arguments.v}) {
      *of = {reinterpret_cast<float*>(data), all.stride, columns, all.rows, /*narrow=*/true};
      data += columns;
    }
    arguments.y.narrow = true;
  }
  // Returns the numbers of a narrow matrix.
  std::vector<float> DownloadNarrow(const cuda::Matrix& from);
  // Returns a matrix that holds NaN.
  cuda::Matrix Empty(cuda::RowsOf rows, int columns);
  cuda::Buffers& buffers() { return buffers_; }

  template <class Arguments>
  void Run(const std::string& kernel, const Arguments& arguments, int threads = 128, int shared_bytes = 0) {
    cuda::Launch launch = cuda::MakeLaunch("test", kernel, arguments);
    launch.threads = threads;
    launch.shared_bytes = static_cast<size_t>(shared_bytes);
    Run(launch);
  }
  std::vector<float> Download(const float* from, int64_t count);
  std::vector<float> Download(const cuda::Matrix& from) { return Download(from.data, Rows(from.rows) * from.stride); }
  cuda::emulated::Machine& machine() { return device_.machine(); }

 private:
  void Run(const cuda::Launch& launch);

  const std::vector<int> cells_;
  cuda::emulated::EmulatedDevice device_;
  cuda::Buffers buffers_;
  cuda::Batch batch_ = {};
};

// Returns the columns of a head in the rows from `first` to `end` of [rows, columns].
std::vector<float> Part(const std::vector<float>& rows, int columns, int64_t first, int64_t end, int first_column,
                        int width);
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);
// Mean distance, relative to the largest value of `theirs`.
double MeanApart(const std::vector<float>& ours, const std::vector<float>& theirs);
double MostApart(const std::vector<float>& ours, const std::vector<float>& theirs);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_ATTENTION_RIG_H_
