// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_MATRICES_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_MATRICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/engine/cuda/launches/device.h"
#include "models/engine/plan/step.h"

namespace vitrine::cuda {

// Weights and bias of a product on the device, [inputs, outputs], so that threads of neighbouring outputs read
// neighbouring weights.
struct DeviceMatrix {
  Precision precision = Precision::kFp32;
  int inputs = 0, outputs = 0;
  const float* fp32 = nullptr;  // of fp32; of bf16 too, rounded, if the reader wants floats
  const uint16_t* bf16 = nullptr;
  const int8_t* int8 = nullptr;
  const float* bias = nullptr;
  const float *scale = nullptr, *sums = nullptr;  // int8: value of a weight's unit, sum of weights, by output
};

// The matrices and vectors of a model; plans of one program share them.
class DeviceMatrices {
 public:
  explicit DeviceMatrices(Buffers& buffers) : buffers_(buffers) {}

  // Uploads the weights when a matrix is first asked for. `as_floats`: bf16 weights as rounded floats.
  const DeviceMatrix& Find(const engine::FoldedMatrix& matrix, bool as_floats = false);
  // Returns a copy of `values` on the device, the same for all equal ones; null if there are none.
  template <class T>
  const T* Copy(const std::vector<T>& values) {
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    const auto [copy, is_new] = copies_.try_emplace(std::string(bytes), nullptr);
    if (is_new) copy->second = buffers_.Copy(values);
    return static_cast<const T*>(copy->second);
  }

 private:
  DeviceMatrix Upload(const engine::FoldedMatrix& matrix, bool as_floats);

  Buffers& buffers_;
  std::map<const program::Operator*, DeviceMatrix> matrices_;
  std::map<std::string, const void*> copies_;  // by their bytes
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_MATRICES_H_
