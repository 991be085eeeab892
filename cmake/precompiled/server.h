// SPDX-License-Identifier: Apache-2.0
// What the server's sources include. No tensors and no JSON: most of them handle requests and know none.
#include <spdlog/spdlog.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/manifest.pb.h"
