// SPDX-License-Identifier: Apache-2.0
// What callers of the service include.
#include <grpcpp/grpcpp.h>

#include <nlohmann/json.hpp>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/classifier.pb.h"
