// SPDX-License-Identifier: Apache-2.0
// Common headers of gRPC clients. The header of the JSON library is left out, because only a fifth of the sources use
// it.
#include <grpcpp/grpcpp.h>

#include "cmake/precompiled/text.h"
#include "vitrine/v1/classifier.pb.h"
