// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OUT_OF_MEMORY_H_
#define VITRINE_MODELS_REFERENCE_OUT_OF_MEMORY_H_

#include <exception>

namespace vitrine {

// True if an exception means out of memory: std::bad_alloc, or LibTorch's equivalents.
bool IsOutOfMemory(const std::exception& error);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OUT_OF_MEMORY_H_
