// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_DRIVER_DRIVER_H_
#define VITRINE_MODELS_ENGINE_CUDA_DRIVER_DRIVER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/engine/cuda/driver/functions.h"

namespace vitrine::cuda::driver {

// CUDA version that the kernels are compiled with. The kernels run with drivers of this major version and newer.
inline constexpr int kLeastVersion = 13000;

inline constexpr char kDriverFile[] = "libcuda.so.1";

// The CUDA driver, loaded and initialized.
class Driver {
 public:
  // Opens and initializes the driver. FAILED_PRECONDITION names the cause and the remedy. Causes: no driver, no device,
  // or a driver that lacks a function or is older than kLeastVersion. The library stays loaded.
  static absl::StatusOr<Driver> Open(const std::string& file = kDriverFile);

  const Functions& functions() const { return functions_; }
  int devices() const { return devices_; }

  // Returns an error that names the call and has the driver's text; OK for kSuccess. RESOURCE_EXHAUSTED if too little
  // memory is free, INTERNAL otherwise.
  absl::Status Check(Result result, std::string_view call) const;
  // Returns the driver's name, number and text of an error: "CUDA_ERROR_NO_DEVICE 100: no CUDA-capable device ...".
  std::string Describe(Result result) const;

 private:
  Driver() = default;

  Functions functions_;
  int devices_ = 0;
};

// Returns true for errors after which every call in this process fails.
bool IsSticky(Result result);

}  // namespace vitrine::cuda::driver

#endif  // VITRINE_MODELS_ENGINE_CUDA_DRIVER_DRIVER_H_
