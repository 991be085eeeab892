// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_SETTING_SOURCES_H_
#define VITRINE_COMMON_COMMAND_LINE_SETTING_SOURCES_H_

#include <CLI/CLI.hpp>
#include <string>

namespace vitrine {

// Lets environment variables and a file also set the flags that `app` has so far, except --help. Adds the flag
// --config, which names the file. Precedence: flag, variable, file, default.
//
// The variable of --max-wait is `prefix` + "MAX_WAIT"; an empty variable is ignored. The file is a subset of TOML: a
// line of up to 4,096 bytes is a comment, `max-wait = "5ms"`, `proxies = ["a", "b"]`, `executors = 4`, or `page = true`
// for a flag without a value. Parsing fails with CLI::ConfigError if the file has a line of another form, an unknown
// key or a repeated key. It also fails if an unknown variable differs from a known variable in one or two letters. The
// message names the unknown key or variable and the nearest known name, never the value.
void AddSettingSources(CLI::App& app, const std::string& prefix);

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_SETTING_SOURCES_H_
