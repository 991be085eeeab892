// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_MATRICES_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_MATRICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/engine/cuda/launches/device.h"
#include "models/engine/plan/step.h"

namespace vitrine::cuda {

enum class MatrixLayout {
  kByInputs,        // [inputs, outputs], so that adjacent threads read adjacent weights
  kFloatsByInputs,  // as kByInputs, with bf16 weights stored as rounded floats
  kByOutputs,       // [outputs, inputs], outputs padded with zeros to a multiple of kWeightRows; for fast kernels
};

// Weights and bias of a product on the device.
struct DeviceMatrix {
  Precision precision = Precision::kFp32;
  int inputs = 0, outputs = 0;
  const float* fp32 = nullptr;  // fp32 weights, or bf16 weights in kFloatsByInputs
  const uint16_t* bf16 = nullptr;
  const int8_t* int8 = nullptr;
  const float* bias = nullptr;
  const float *scale = nullptr, *sums = nullptr;  // int8: as in LinearBytesArguments
};

// The matrices and vectors of a model; plans of one program share them.
class DeviceMatrices {
 public:
  explicit DeviceMatrices(Buffers& buffers) : buffers_(buffers) {}

  // Returns the matrix in a layout. The first call for a layout uploads the weights.
  const DeviceMatrix& Find(const engine::FoldedMatrix& matrix, MatrixLayout layout);
  // Returns a device copy of `values`; equal values share one copy. Null if there are none.
  template <class T>
  const T* Copy(const std::vector<T>& values) {
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    const auto [copy, is_new] = copies_.try_emplace(std::string(bytes), nullptr);
    if (is_new) copy->second = buffers_.Copy(values);
    return static_cast<const T*>(copy->second);
  }
  // Returns the bytes that the matrices in bf16 or int8 save, compared to fp32.
  int64_t SavedBytes() const;

 private:
  DeviceMatrix Upload(const engine::FoldedMatrix& matrix, MatrixLayout layout);

  Buffers& buffers_;
  std::map<std::pair<const program::Operator*, MatrixLayout>, DeviceMatrix> matrices_;
  std::map<std::string, const void*> copies_;  // by content
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_MATRICES_H_
