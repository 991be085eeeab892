// SPDX-License-Identifier: Apache-2.0
// What callers of the service include. No JSON, which a fifth of them write.
#include <grpcpp/grpcpp.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/classifier.pb.h"
