// SPDX-License-Identifier: Apache-2.0
// Headers of the test framework in addition to tensors.h, for tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/tensors.h"
