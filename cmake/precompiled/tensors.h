// SPDX-License-Identifier: Apache-2.0
// Common headers of sources that compute on tensors: small headers of ATen, and the messages of a model's config.
// Headers that only a few sources include, such as autograd's custom_function.h, are left out, because every source
// instantiates again the templates that a precompiled header uses.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/model.pb.h"
