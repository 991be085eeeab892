// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA driver, libcuda.so.1, that the engine calls, with the names that the library exports. They are
// declared here, so that neither the build nor the running program needs a CUDA toolkit.
#ifndef VITRINE_MODELS_ENGINE_CUDA_DRIVER_FUNCTIONS_H_
#define VITRINE_MODELS_ENGINE_CUDA_DRIVER_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace vitrine::cuda::driver {

using ContextHandle = struct ContextOfDriver*;
using ModuleHandle = struct ModuleOfDriver*;
using FunctionHandle = struct FunctionOfDriver*;
using StreamHandle = struct StreamOfDriver*;
using EventHandle = struct EventOfDriver*;
using GraphHandle = struct GraphOfDriver*;
using GraphExecHandle = struct GraphExecOfDriver*;
using DevicePointer = uint64_t;

// Results (CUresult).
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kNvlinkUncorrectable = 220,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kContained = 226,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kMpsClientTerminated = 810,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kExternalDevice = 911,
  kUnknown = 999,
};

// Device attributes (CUdevice_attribute).
inline constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;
// Function attribute (CUfunction_attribute).
inline constexpr int kMaxDynamicSharedBytes = 8;
// Flags of streams, events and captures.
inline constexpr unsigned kStreamNonBlocking = 1, kEventWithTiming = 0, kEventDisableTiming = 2;
inline constexpr int kCaptureGlobal = 0, kCaptureThreadLocal = 1;

// Calls F(name, parameters) for each function.
#define VITRINE_DRIVER_FUNCTIONS(F)                                                                                  \
  F(cuInit, (unsigned flags))                                                                                        \
  F(cuDriverGetVersion, (int* version))                                                                              \
  F(cuGetErrorName, (Result error, const char** name))                                                               \
  F(cuGetErrorString, (Result error, const char** text))                                                             \
  F(cuDeviceGetCount, (int* count))                                                                                  \
  F(cuDeviceGet, (int* device, int ordinal))                                                                         \
  F(cuDeviceGetName, (char* name, int bytes, int device))                                                            \
  F(cuDeviceGetAttribute, (int* value, int attribute, int device))                                                   \
  F(cuDevicePrimaryCtxRetain, (ContextHandle * context, int device))                                                 \
  F(cuDevicePrimaryCtxRelease_v2, (int device))                                                                      \
  F(cuCtxSetCurrent, (ContextHandle context))                                                                        \
  F(cuModuleLoadData, (ModuleHandle * module, const void* image))                                                    \
  F(cuModuleUnload, (ModuleHandle module))                                                                           \
  F(cuModuleGetFunction, (FunctionHandle * function, ModuleHandle module, const char* name))                         \
  F(cuFuncSetAttribute, (FunctionHandle function, int attribute, int value))                                         \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                                     \
    (int* blocks, FunctionHandle function, int threads, size_t shared_bytes))                                        \
  F(cuLaunchKernel,                                                                                                  \
    (FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
     unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** parameters, void** extra))                 \
  F(cuMemAlloc_v2, (DevicePointer * memory, size_t bytes))                                                           \
  F(cuMemFree_v2, (DevicePointer memory))                                                                            \
  F(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                \
  F(cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                                                   \
  F(cuMemFreeHost, (void* memory))                                                                                   \
  F(cuMemcpyHtoDAsync_v2, (DevicePointer to, const void* from, size_t bytes, StreamHandle stream))                   \
  F(cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, size_t bytes, StreamHandle stream))                         \
  F(cuStreamCreate, (StreamHandle * stream, unsigned flags))                                                         \
  F(cuStreamDestroy_v2, (StreamHandle stream))                                                                       \
  F(cuStreamBeginCapture_v2, (StreamHandle stream, int mode))                                                        \
  F(cuStreamEndCapture, (StreamHandle stream, GraphHandle * graph))                                                  \
  F(cuEventCreate, (EventHandle * event, unsigned flags))                                                            \
  F(cuEventDestroy_v2, (EventHandle event))                                                                          \
  F(cuEventRecord, (EventHandle event, StreamHandle stream))                                                         \
  F(cuEventQuery, (EventHandle event))                                                                               \
  F(cuEventElapsedTime_v2, (float* milliseconds, EventHandle begin, EventHandle end))                                \
  F(cuGraphInstantiateWithFlags, (GraphExecHandle * exec, GraphHandle graph, unsigned long long flags))              \
  F(cuGraphUpload, (GraphExecHandle exec, StreamHandle stream))                                                      \
  F(cuGraphLaunch, (GraphExecHandle exec, StreamHandle stream))                                                      \
  F(cuGraphExecDestroy, (GraphExecHandle exec))                                                                      \
  F(cuGraphDestroy, (GraphHandle graph))

// The loaded functions, by their exported names.
struct Functions {
#define VITRINE_DRIVER_MEMBER(name, parameters) Result(*name) parameters = nullptr;
  VITRINE_DRIVER_FUNCTIONS(VITRINE_DRIVER_MEMBER)
#undef VITRINE_DRIVER_MEMBER
};

}  // namespace vitrine::cuda::driver

#endif  // VITRINE_MODELS_ENGINE_CUDA_DRIVER_FUNCTIONS_H_
