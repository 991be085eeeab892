// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_COMMAND_TREE_H_
#define VITRINE_COMMON_COMMAND_LINE_COMMAND_TREE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace vitrine {

// Definition of a flag or argument, for completion scripts and manual pages.
struct CommandOption {
  std::vector<std::string> names = {};  // "--format", "-r"; an argument has one name, "IMAGE"
  bool argument = false;                // true: a positional argument
  bool takes_value = false;
  std::string value = {};                 // placeholder of the value, "FORMAT"; may be empty
  std::vector<std::string> choices = {};  // allowed values; empty: any value
  std::string standard = {};              // description of the default; empty: no default
  std::string help = {};
  bool TakesFile() const;    // returns true if the placeholder suggests a file
  bool TakesNumber() const;  // returns true if the placeholder suggests a number
};

// The program or one of its commands.
struct CommandNode {
  std::vector<std::string> path = {};  // words of the command, {"eval", "compare"}; empty: the program itself
  std::string help = {};
  std::string footer = {};
  std::vector<CommandOption> options = {};
  std::vector<CommandOption> inherited = {};  // flags of parent commands that this command also accepts
  std::vector<CommandNode> commands = {};
};

// Returns the tree of everything that the help of `app` shows, including subcommands.
CommandNode ReadCommandTree(const CLI::App& app);

// Returns the node and its descendants, parents first.
std::vector<const CommandNode*> AllCommands(const CommandNode& root);

// Returns a completion script for a shell, "bash" or "zsh".
std::string CompletionScript(const std::string& program, const CommandNode& root, const std::string& shell);
// Returns the manual page as man(7) macros.
std::string ManualPage(const std::string& program, const std::string& version, const CommandNode& root);

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_COMMAND_TREE_H_
