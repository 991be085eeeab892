// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OUT_OF_MEMORY_H_
#define VITRINE_REFERENCE_OUT_OF_MEMORY_H_

#include <exception>

namespace vitrine {

// Whether an exception says that memory ran out: std::bad_alloc, or one of LibTorch's of the same meaning.
bool IsOutOfMemory(const std::exception& error);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OUT_OF_MEMORY_H_
