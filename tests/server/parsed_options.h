// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_PARSED_OPTIONS_H_
#define VITRINE_TESTS_SERVER_PARSED_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <vector>

#include "server/options.h"

namespace vitrine::testing {

// Returns the options that the server parses from these flags. Throws CLI11's exceptions for an invalid flag.
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
