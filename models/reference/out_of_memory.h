// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OUT_OF_MEMORY_H_
#define VITRINE_MODELS_REFERENCE_OUT_OF_MEMORY_H_

#include <exception>

namespace vitrine {

// Returns true if an exception of LibTorch means that the CPU or a device is out of memory.
bool IsOutOfMemory(const std::exception& error);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OUT_OF_MEMORY_H_
