// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_SHELL_QUOTED_H_
#define VITRINE_COMMON_COMMAND_LINE_SHELL_QUOTED_H_

#include <string>

namespace vitrine {

// Returns the text as one word for a POSIX shell, in quotes if it has characters that the shell may change.
std::string ShellQuoted(const std::string& text);

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_SHELL_QUOTED_H_
