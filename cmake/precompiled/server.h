// SPDX-License-Identifier: Apache-2.0
// Common headers of the server. Headers for tensors and JSON are left out, because most sources of the server do not
// use them.
#include <spdlog/spdlog.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/manifest.pb.h"
