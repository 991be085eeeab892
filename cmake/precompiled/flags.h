// SPDX-License-Identifier: Apache-2.0
// What the commands of `vitrine` include: a caller of the service that reads flags.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cmake/precompiled/client.h"
