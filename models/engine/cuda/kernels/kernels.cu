// SPDX-License-Identifier: Apache-2.0
// All kernels, for nvcc. emulated/kernels.cc lists them for the emulator.
#include "models/engine/cuda/kernels/attention.cuh"
#include "models/engine/cuda/kernels/channel_attention.cuh"
#include "models/engine/cuda/kernels/convolutions.cuh"
#include "models/engine/cuda/kernels/fast/channel_attention.cuh"
#include "models/engine/cuda/kernels/fast/convolve.cuh"
#include "models/engine/cuda/kernels/fast/depthwise.cuh"
#include "models/engine/cuda/kernels/fast/gelu.cuh"
#include "models/engine/cuda/kernels/fast/rows.cuh"
#include "models/engine/cuda/kernels/linear.cuh"
#include "models/engine/cuda/kernels/primitives.cuh"
#include "models/engine/cuda/kernels/rows.cuh"
