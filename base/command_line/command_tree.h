// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_COMMAND_LINE_COMMAND_TREE_H_
#define VITRINE_BASE_COMMAND_LINE_COMMAND_TREE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace vitrine {

// A flag or argument as its definition says it, for the pages that are made of these.
struct CommandOption {
  std::vector<std::string> names = {};  // "--format", "-r"; of an argument its name alone, "IMAGE"
  bool argument = false;                // positional
  bool takes_value = false;
  std::string value = {};                 // what the value is called, "FORMAT"; may be empty
  std::vector<std::string> choices = {};  // the only values, where there are such
  std::string standard = {};              // the default, in words; empty: none
  std::string help = {};
  bool TakesFile() const;  // by what the value is called
};

// A program or one of its commands.
struct CommandNode {
  std::vector<std::string> path = {};  // {"eval", "compare"}; empty: the program
  std::string help = {};
  std::string footer = {};
  std::vector<CommandOption> options = {};
  std::vector<CommandOption> inherited = {};  // flags of the commands above that are taken here too
  std::vector<CommandNode> commands = {};
};

// All that `app` shows in its help, commands within commands included.
CommandNode ReadCommandTree(const CLI::App& app);

// The node and all below it, parents first.
std::vector<const CommandNode*> AllCommands(const CommandNode& root);

// A script that completes the program's command line in a shell, "bash" or "zsh".
std::string CompletionScript(const std::string& program, const CommandNode& root, const std::string& shell);
// The manual page, in man(7)'s macros.
std::string ManualPage(const std::string& program, const std::string& version, const CommandNode& root);

}  // namespace vitrine

#endif  // VITRINE_BASE_COMMAND_LINE_COMMAND_TREE_H_
