// SPDX-License-Identifier: Apache-2.0
// A batch on the emulated device, for tests that run single kernels.
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_KERNEL_BATCH_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_KERNEL_BATCH_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "models/engine/cuda/emulated/emulated_device.h"
#include "models/engine/cuda/launches/batch_rows.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/cuda/launches/fast_kernels.h"

namespace vitrine::testing {

// A batch of images in which each cell is one pixel. NewMatrix and Numbers return random numbers, which depend only on
// the order of these calls.
class KernelBatch {
 public:
  explicit KernelBatch(const std::vector<Grid>& grids, const cuda::emulated::MachineOptions& machine = {},
                       int channels = 1);

  cuda::Batch batch() const { return batch_; }
  const cuda::BatchRows& rows() const { return rows_; }
  cuda::Buffers& buffers() { return buffers_; }
  const cuda::emulated::Machine& machine() { return device_.machine(); }

  // Returns the columns [first, first + columns) of a new matrix with `stride` numbers per row. If `stride` is 0, the
  // matrix has `columns` numbers per row.
  cuda::Matrix NewMatrix(cuda::RowsOf rows, int columns, int64_t stride = 0, int64_t first = 0);
  std::vector<float> Numbers(size_t count);
  const float* Copy(const std::vector<float>& numbers) { return buffers_.Copy(numbers); }

  // Returns random rows. Images with equal numbers of cells get equal rows in every batch.
  std::vector<float> Random(cuda::RowsOf rows, int columns, uint64_t seed) const;
  // Returns a matrix of NaN. Each row has `beside` unused numbers on each side. If `narrow`, numbers are bf16.
  cuda::Matrix Empty(cuda::RowsOf rows, int columns, int beside = 0, bool narrow = false);
  // Returns a matrix as Empty does, but with these values. If `narrow`, the values are rounded to bf16.
  cuda::Matrix Put(const std::vector<float>& values, cuda::RowsOf rows, int columns, int beside = 0,
                   bool narrow = false);
  // Changes the matrices in `arguments`: q, k and v become columns of one bf16 matrix with the rounded values of `qkv`,
  // and y becomes a bf16 matrix.
  template <class Arguments>
  void MakeNarrow(const std::vector<float>& qkv, Arguments& arguments) {
    const int columns = arguments.q.columns;
    const cuda::Matrix all = Put(qkv, arguments.q.rows, 3 * columns, 0, /*narrow=*/true);
    auto* data = reinterpret_cast<uint16_t*>(all.data);
    for (cuda::Matrix* const of : {&arguments.q, &arguments.k, &arguments.v}) {
      *of = {reinterpret_cast<float*>(data), all.stride, columns, all.rows, /*narrow=*/true};
      data += columns;
    }
    arguments.y.narrow = true;
  }

  // Runs a kernel. Fails the test if the emulator reports a fault.
  void Run(const cuda::Launch& launch) {
    const absl::Status status = device_.Run(launch);
    EXPECT_TRUE(status.ok()) << status;
  }
  template <class Arguments>
  void Run(const std::string& kernel, const Arguments& arguments, int threads = 128, size_t shared_bytes = 0) {
    cuda::Launch launch = cuda::MakeLaunch("test", kernel, arguments);
    launch.threads = threads;
    launch.shared_bytes = shared_bytes;
    Run(launch);
  }
  // Runs the kernel that the engine chooses for these arguments, which must be a fast one.
  template <class Arguments>
  void RunFast(const Arguments& arguments) {
    const cuda::KernelChoice choice = cuda::Choose(arguments);
    EXPECT_TRUE(std::string(choice.kernel).starts_with("vitrine_fast_")) << choice.kernel;
    Run(choice.kernel, arguments, choice.threads, choice.shared_bytes);
  }

  // Returns the numbers of a matrix, row by row.
  std::vector<float> Get(const cuda::Matrix& matrix);
  // Returns the rows and the unused numbers between them, to check that a kernel does not change other columns.
  std::vector<float> Read(const cuda::Matrix& matrix);
  template <class T>
  std::vector<T> Read(const T* from, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(device_.Download(values.data(), from, count * sizeof(T)).ok());
    return values;
  }

 private:
  static std::vector<engine::ImagePlanes> Planes(const std::vector<Grid>& grids, int channels);

  cuda::emulated::EmulatedDevice device_;
  cuda::Buffers buffers_{device_};
  const std::vector<engine::ImagePlanes> planes_;
  const cuda::BatchRows rows_;
  cuda::Batch batch_ = {};
  std::mt19937_64 random_{7};
};

// Returns grids with one row of cells each; `cells` has the number of cells of each grid.
std::vector<Grid> InOneRow(const std::vector<int>& cells);
std::vector<float> FloatsOfBf16(const std::vector<uint16_t>& narrow);
std::vector<float> RoundedToBf16(const std::vector<float>& values);
// Returns `width` columns from `first_column`, in rows [first, end) of a matrix with `columns` columns.
std::vector<float> Part(const std::vector<float>& rows, int columns, int64_t first, int64_t end, int first_column,
                        int width);
// Return the mean and the largest difference, relative to the largest value of `theirs`.
double MeanApart(const std::vector<float>& ours, const std::vector<float>& theirs);
double MostApart(const std::vector<float>& ours, const std::vector<float>& theirs);

template <class T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Calls run(batch, fast) for the plain kernels and, on several emulated machines, for the fast kernels. All calls get
// equal inputs, and their results must have equal bits.
template <class Run>
void ExpectEqualBits(const std::vector<std::vector<Grid>>& batches, const std::string& what, Run run) {
  for (const std::vector<Grid>& grids : batches) {
    KernelBatch plain(grids);
    const auto expected = run(plain, false);
    for (const cuda::emulated::MachineOptions& machine :
         {cuda::emulated::MachineOptions{.seed = 1}, {.seed = 2, .sms = 1}, {.seed = 3, .sms = 132}}) {
      KernelBatch fast(grids, machine);
      EXPECT_TRUE(SameBits(run(fast, true), expected))
          << what << ", first grid " << grids[0].rows << " x " << grids[0].columns << ", " << machine.sms << " SMs";
    }
  }
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_KERNEL_BATCH_H_
