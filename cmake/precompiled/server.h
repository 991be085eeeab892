// SPDX-License-Identifier: Apache-2.0
// Common headers of the server. Tensors and JSON are left out: most of its sources use neither.
#include <spdlog/spdlog.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/manifest.pb.h"
