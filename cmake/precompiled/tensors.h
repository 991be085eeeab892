// SPDX-License-Identifier: Apache-2.0
// Common headers of sources that compute on tensors: ATen's narrow headers and a model's config. Headers that few
// sources include, such as autograd's custom_function.h, are left out: the compiler instantiates a precompiled header's
// pending templates again in every source.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/model.pb.h"
