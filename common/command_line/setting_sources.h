// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_SETTING_SOURCES_H_
#define VITRINE_COMMON_COMMAND_LINE_SETTING_SOURCES_H_

#include <CLI/CLI.hpp>
#include <string>

namespace vitrine {

// Lets the flags that `app` has so far, except --help, also be set by environment variables and by a file, which the
// added flag --config names. A flag overrides the variable, the variable the file, and the file the default.
//
// The variable of --max-wait is `prefix` + "MAX_WAIT"; an empty one is ignored. The file is a part of TOML: a line is a
// comment, `max-wait = "5ms"`, `proxies = ["a", "b"]`, `executors = 4`, or `page = true` for a flag without a value.
// Parsing fails with CLI::ConfigError if the file has another line, an unknown or a repeated key, or if a variable
// differs in a letter or two from one that a flag has. The message has the name and the nearest known one, never the
// value.
void AddSettingSources(CLI::App& app, const std::string& prefix);

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_SETTING_SOURCES_H_
