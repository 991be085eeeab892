// SPDX-License-Identifier: Apache-2.0
// Common headers of the tests of sources that use text.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/text.h"
