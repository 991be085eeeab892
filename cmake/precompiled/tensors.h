// SPDX-License-Identifier: Apache-2.0
// What sources that compute on tensors include: ATen's narrow headers and the config of a model. What only a few
// include, such as autograd's custom_function.h, costs every other source more than it saves: the compiler instantiates
// a precompiled header's pending templates again in each.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/model.pb.h"
