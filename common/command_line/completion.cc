// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/command_line/command_tree.h"

namespace vitrine {
namespace {

// Returns the name of a command in the script: "/eval/compare" for "eval compare", "" for the program itself.
std::string Place(const CommandNode& node) {
  return node.path.empty() ? "" : absl::StrCat("/", absl::StrJoin(node.path, "/"));
}

// Returns the name of the script's function: "_vitrine_repo" for "vitrine-repo".
std::string FunctionName(const std::string& program) {
  return absl::StrCat("_", absl::StrReplaceAll(program, {{"-", "_"}}));
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::vector<CommandOption> OptionsOf(const CommandNode& node) {
  std::vector<CommandOption> options = node.options;
  options.insert(options.end(), node.inherited.begin(), node.inherited.end());
  return options;
}

// Returns a shell pattern that matches all commands: "/classify|/eval|/eval/compare".
std::string Places(const CommandNode& root) {
  std::vector<std::string> places;
  for (const CommandNode* node : AllCommands(root)) {
    if (!node->path.empty()) places.push_back(Place(*node));
  }
  return absl::StrJoin(places, "|");
}

// Flags, grouped by the kind of value that they take. Each flag is a shell pattern "command flag".
struct Values {
  std::map<std::string, std::vector<std::string>> choices = {};  // keys: the choices as one text
  std::vector<std::string> files = {}, others = {};
};

Values ValuesOf(const CommandNode& root) {
  Values values;
  for (const CommandNode* node : AllCommands(root)) {
    for (const CommandOption& option : OptionsOf(*node)) {
      if (option.argument || !option.takes_value) continue;
      for (const std::string& name : option.names) {
        const std::string pattern = absl::StrCat("'", Place(*node), " ", name, "'");
        if (!option.choices.empty()) {
          values.choices[absl::StrJoin(option.choices, " ")].push_back(pattern);
        } else {
          (option.TakesFile() ? values.files : values.others).push_back(pattern);
        }
      }
    }
  }
  return values;
}

void AddCase(const std::vector<std::string>& patterns, const std::string& action, std::string& script) {
  if (!patterns.empty()) absl::StrAppend(&script, "    ", absl::StrJoin(patterns, "|"), ") ", action, " ;;\n");
}

// Returns a shell loop that sets `command` from the words before the cursor. `first`, `end` and `word` differ because
// bash and zsh have different variables for the words.
std::string Walk(const CommandNode& root, const std::string& first, const std::string& end, const std::string& word) {
  if (root.commands.empty()) return "";
  return absl::StrCat("  for ((i = ", first, "; i < ", end, "; ++i)); do\n    case $command/", word, " in\n      ",
                      Places(root), ") command=$command/", word, " ;;\n    esac\n  done\n");
}

std::string BashScript(const std::string& program, const CommandNode& root) {
  std::string script = absl::StrCat(
      "# Completion of ", program, " in bash; written by `", program, " --completion bash`.\n", FunctionName(program),
      "() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n  local command= flags= "
      "commands= i\n"
      "  # bash takes --flag=value apart.\n"
      "  if [[ $word == '=' ]]; then word=; elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n",
      Walk(root, "1", "COMP_CWORD", "${COMP_WORDS[i]}"), "  COMPREPLY=()\n  case \"$command $before\" in\n");
  const Values values = ValuesOf(root);
  for (const auto& [words, patterns] : values.choices) {
    AddCase(patterns, absl::StrCat("COMPREPLY=($(compgen -W ", Quoted(words), " -- \"$word\")); return"), script);
  }
  AddCase(values.files, "return", script);  // bash itself completes file names
  AddCase(values.others, "compopt +o default +o bashdefault 2>/dev/null; return", script);
  absl::StrAppend(&script, "  esac\n  case $command in\n");
  for (const CommandNode* node : AllCommands(root)) {
    std::vector<std::string> flags, commands;
    for (const CommandOption& option : OptionsOf(*node)) {
      if (!option.argument) flags.insert(flags.end(), option.names.begin(), option.names.end());
    }
    for (const CommandNode& command : node->commands) commands.push_back(command.path.back());
    absl::StrAppend(&script, "    ", Quoted(Place(*node)), ") flags=", Quoted(absl::StrJoin(flags, " ")),
                    " commands=", Quoted(absl::StrJoin(commands, " ")), " ;;\n");
  }
  absl::StrAppend(
      &script,
      "  esac\n  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "  elif [[ -n $commands ]]; then\n    COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n  fi\n}\n",
      "complete -o default -o bashdefault -F ", FunctionName(program), " ", program);
  return script;
}

// Returns "'--format:table for people'", the form that _describe of zsh needs.
std::string Described(const std::string& name, const std::string& help) {
  return Quoted(absl::StrCat(name, ":", FirstLine(help)));
}

std::string ZshScript(const std::string& program, const CommandNode& root) {
  std::string script = absl::StrCat("#compdef ", program, "\n# Completion of ", program, " in zsh; written by `",
                                    program, " --completion zsh`.\n", FunctionName(program),
                                    "() {\n  local command= i before=$words[CURRENT-1]\n  local -a flags commands\n",
                                    Walk(root, "2", "CURRENT", "$words[i]"), "  case \"$command $before\" in\n");
  const Values values = ValuesOf(root);
  for (const auto& [words, patterns] : values.choices) {
    AddCase(patterns, absl::StrCat("compadd -- ", words, "; return"), script);
  }
  AddCase(values.files, "_files; return", script);
  AddCase(values.others, "_message value; return", script);
  absl::StrAppend(&script, "  esac\n  case $command in\n");
  for (const CommandNode* node : AllCommands(root)) {
    std::vector<std::string> flags, commands;
    for (const CommandOption& option : OptionsOf(*node)) {
      if (option.argument) continue;
      for (const std::string& name : option.names) flags.push_back(Described(name, option.help));
    }
    for (const CommandNode& command : node->commands) commands.push_back(Described(command.path.back(), command.help));
    absl::StrAppend(&script, "    ", Quoted(Place(*node)), ")\n      flags=(", absl::StrJoin(flags, "\n        "),
                    ")\n      commands=(", absl::StrJoin(commands, "\n        "), ") ;;\n");
  }
  absl::StrAppend(&script, "  esac\n  if [[ $PREFIX == -* ]]; then\n    _describe -o flag flags\n",
                  "  elif (( $#commands )); then\n    _describe command commands\n  else\n    _files\n  fi\n}\n",
                  // The script works when it is sourced, and also when zsh autoloads it from $fpath.
                  "if [[ $funcstack[1] == ", FunctionName(program), " ]]; then\n  ", FunctionName(program),
                  " \"$@\"\nelse\n  compdef ", FunctionName(program), " ", program, "\nfi");
  return script;
}

}  // namespace

std::string CompletionScript(const std::string& program, const CommandNode& root, const std::string& shell) {
  return shell == "zsh" ? ZshScript(program, root) : BashScript(program, root);
}

}  // namespace vitrine
