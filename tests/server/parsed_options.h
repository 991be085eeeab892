// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_PARSED_OPTIONS_H_
#define VITRINE_TESTS_SERVER_PARSED_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <vector>

#include "server/options.h"

namespace vitrine::testing {

// What the server's command line makes of these flags. CLI11's exceptions tell of a wrong one.
inline ServerOptions Parse(std::vector<const char*> flags) {
  ServerOptions options;
  CLI::App app;
  BindFlags(app, options);
  flags.insert(flags.begin(), "vitrine-server");
  app.parse(static_cast<int>(flags.size()), flags.data());
  return options;
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_PARSED_OPTIONS_H_
