// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LIBRARY_H_
#define VITRINE_MODELS_ENGINE_CUDA_LIBRARY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/engine/backend.h"
#include "models/engine/device_status.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/program/program.h"

namespace vitrine {

// Size of the largest image of a model. The device's memory for a batch must have room for this image.
struct LargestImage {
  int64_t cells = 0;
  int64_t pixels = 0;  // channels * height * width
};

// Functions of libvitrine_cuda.so, which contains the engine for CUDA devices and needs the NVIDIA driver. Programs
// load the library only to use a CUDA device. `device` is the number of a device: 0 for "cuda:0".
struct CudaLibrary {
  // Opens a device. Must be called once per device, before the other functions. FAILED_PRECONDITION names what is
  // missing.
  absl::Status (*open_device)(int device);
  // Returns true if the device is lost or not open. A device is lost after some errors, such as an illegal address or a
  // kernel that does not end. Every later call of this process then fails, and only a new process can use the device.
  // Does not call the device.
  bool (*is_lost)(int device);
  // Returns the memory of the device and counts of its work, or an error of the device, for example if it is lost.
  absl::StatusOr<DeviceStatus> (*status)(int device);
  // Loads a model onto an open device. Allocates memory for batches within the limits `most`; if one image of size
  // `largest` has more tokens than `most`, the memory has room for one such image. UNIMPLEMENTED: the device does not
  // support an operator, which the message names. INVALID_ARGUMENT: the model lacks an operator of `choice.kept`.
  // RESOURCE_EXHAUSTED: the memory of the device is too small; the message has the required bytes. INTERNAL: another
  // error of the device.
  absl::StatusOr<std::unique_ptr<const Backend>> (*make_backend)(int device, const program::Program& program,
                                                                 engine::WeightSource& weights,
                                                                 const PrecisionChoice& choice,
                                                                 const LargestImage& largest, const DeviceBatch& most);
  // Compiled kernels (cuda/driver/card.h), for programs that time single kernels.
  const void* kernels;
};

// Loads the library at the first call, from ../lib relative to the program's folder, from the program's folder, or from
// the system's search path. FAILED_PRECONDITION, with the reason, if loading fails. Thread-safe.
absl::StatusOr<const CudaLibrary*> OpenCudaLibrary();

// Name of the library's only symbol, of type const CudaLibrary*().
inline constexpr char kCudaLibrarySymbol[] = "vitrine_cuda_library";

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_CUDA_LIBRARY_H_
