// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/command_tree.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace vitrine {
namespace {

// Returns the allowed values of CLI11's IsMember. CLI11 gives the values only as a text such as "{table,json}". The
// text is the check's description or, if OneOf hides the values from the help, the check's name.
std::vector<std::string> ChoicesOf(CLI::Option& option) {
  CLI::Validator* check = nullptr;
  try {
    check = option.get_validator(0);
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
  for (const std::string& said : {check->get_name(), check->get_description()}) {
    absl::string_view words = said;
    if (!absl::ConsumePrefix(&words, "{") || !absl::ConsumeSuffix(&words, "}")) continue;
    return absl::StrSplit(words, ',');
  }
  return {};
}

CommandOption ReadOption(CLI::Option& option) {
  CommandOption read;
  read.argument = option.get_positional();
  read.takes_value = option.get_items_expected_max() > 0;
  read.value = option.get_type_name();
  read.value = read.value.substr(0, read.value.find(':'));  // CLI11 appends the checks after a ":"
  read.choices = ChoicesOf(option);
  read.standard = option.get_default_str();
  read.help = option.get_description();
  for (const std::string& name : option.get_snames()) read.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) read.names.push_back("--" + name);
  if (read.names.empty()) read.names.push_back(option.get_name(/*positional=*/true));
  read.argument = read.argument && read.names.front().substr(0, 1) != "-";
  return read;
}

CommandNode ReadNode(const CLI::App& app, const CommandNode* parent) {
  CommandNode node;
  node.help = app.get_description();
  node.footer = app.get_footer();
  if (parent != nullptr) {
    node.path = parent->path;
    node.path.push_back(app.get_name());
    if (app.get_fallthrough()) {
      for (const auto* options : {&parent->options, &parent->inherited}) {
        std::copy_if(options->begin(), options->end(), std::back_inserter(node.inherited),
                     [](const CommandOption& option) { return !option.argument; });
      }
    }
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) node.options.push_back(ReadOption(const_cast<CLI::Option&>(*option)));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_name().empty() && !command->get_group().empty()) {
      node.commands.push_back(ReadNode(*command, &node));
    }
  }
  return node;
}

void Collect(const CommandNode& node, std::vector<const CommandNode*>& all) {
  all.push_back(&node);
  for (const CommandNode& command : node.commands) Collect(command, all);
}

}  // namespace

bool CommandOption::TakesFile() const {
  for (const char* word : {"FILE", "DIR", "PATH", "SPEC", "TEXT"}) {
    if (value.find(word) != std::string::npos) return true;
  }
  return value.empty();
}

bool CommandOption::TakesNumber() const {
  for (const char* word :
       {"INT", "UINT", "FLOAT", "N", "K", "R", "BYTES", "FRACTION", "SHARE", "PIXELS", "TOKENS", "SECONDS", "PID"}) {
    if (value == word) return true;
  }
  return false;
}

CommandNode ReadCommandTree(const CLI::App& app) {
  return ReadNode(app, nullptr);
}

std::vector<const CommandNode*> AllCommands(const CommandNode& root) {
  std::vector<const CommandNode*> all;
  Collect(root, all);
  return all;
}

}  // namespace vitrine
