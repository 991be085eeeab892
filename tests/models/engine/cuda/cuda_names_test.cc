// SPDX-License-Identifier: Apache-2.0
// Compares our declarations of the driver's functions and constants with NVIDIA's cuda.h.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "models/engine/cuda/driver/functions.h"

namespace vitrine::testing {
namespace {

using namespace cuda::driver;

template <class Ours, class... A, class Theirs, class... B>
constexpr bool HaveOneShape(Ours (*)(A...), Theirs (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return sizeof(Ours) == sizeof(Theirs) &&
           ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>)&&...);
  }
}

#define VITRINE_SAME(name, parameters) \
  static_assert(HaveOneShape(decltype(Functions::name){nullptr}, decltype(&::name){nullptr}));
VITRINE_DRIVER_FUNCTIONS(VITRINE_SAME)

static_assert(!HaveOneShape(decltype(Functions::cuMemFree_v2){nullptr}, decltype(&::cuMemFreeHost){nullptr}));

struct Constant {
  int ours, theirs;
};
constexpr Constant kConstants[] = {
    {kSuccess, CUDA_SUCCESS},
    {kInvalidValue, CUDA_ERROR_INVALID_VALUE},
    {kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY},
    {kNotInitialized, CUDA_ERROR_NOT_INITIALIZED},
    {kStubLibrary, CUDA_ERROR_STUB_LIBRARY},
    {kNoDevice, CUDA_ERROR_NO_DEVICE},
    {kInvalidDevice, CUDA_ERROR_INVALID_DEVICE},
    {kInvalidImage, CUDA_ERROR_INVALID_IMAGE},
    {kInvalidContext, CUDA_ERROR_INVALID_CONTEXT},
    {kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU},
    {kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE},
    {kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
    {kJitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED},
    {kInvalidHandle, CUDA_ERROR_INVALID_HANDLE},
    {kNotFound, CUDA_ERROR_NOT_FOUND},
    {kNotReady, CUDA_ERROR_NOT_READY},
    {kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS},
    {kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
    {kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT},
    {kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED},
    {kAssert, CUDA_ERROR_ASSERT},
    {kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR},
    {kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION},
    {kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS},
    {kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE},
    {kInvalidPc, CUDA_ERROR_INVALID_PC},
    {kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED},
    {kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY},
    {kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
    {kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
    {kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED},
    {kUnknown, CUDA_ERROR_UNKNOWN},
    {kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
    {kStreamNonBlocking, CU_STREAM_NON_BLOCKING},
    {kEventWithTiming, CU_EVENT_DEFAULT},
    {kEventDisableTiming, CU_EVENT_DISABLE_TIMING},
    {kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL},
    {kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
};

TEST(CudaNames, ConstantsEqualThoseOfNvidia) {
  for (const Constant& constant : kConstants) EXPECT_EQ(constant.ours, constant.theirs);
}

}  // namespace
}  // namespace vitrine::testing
