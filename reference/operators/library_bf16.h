// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_LIBRARY_BF16_H_
#define VITRINE_REFERENCE_OPERATORS_LIBRARY_BF16_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// Whether products of this tensor have to be taken over floats: it is bf16, on a CPU where oneDNN does not multiply
// bf16 (it wants AVX-512). The library would refuse some of them there and take scalar loops for the others.
bool MultipliedAsFloats(const at::Tensor& tensor);

// at::conv2d over numbers of one type; where bf16 is multiplied as floats, with the sums rounded at their end as well.
at::Tensor LibraryConvolution(const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias, int stride,
                              int padding);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_LIBRARY_BF16_H_
