// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/command_line.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/command_line/command_tree.h"
#include "common/command_line/out_of_memory.h"
#include "common/nearest.h"
#include "vitrine_revision.h"

namespace vitrine {

std::string_view SourceRevision() {
  return VITRINE_REVISION;
}

namespace {

// Adds --completion and --manual-page. The help hides them, because users rarely need them: an installation already
// contains the completion scripts and the manual page. Both flags throw an exception as --version does, so CLI11 does
// not check the required arguments.
void AddPages(CLI::App& app, const std::string& version) {
  const auto say = [](const std::string& text) { throw CLI::CallForVersion(text, kExitSuccess); };
  app.add_option_function<std::string>(
         "--completion",
         [&app, say](const std::string& shell) { say(CompletionScript(app.get_name(), ReadCommandTree(app), shell)); },
         "a completion script")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->group("");
  app.add_flag_callback(
         "--manual-page", [&app, say, version] { say(ManualPage(app.get_name(), version, ReadCommandTree(app))); },
         "the manual page")
      ->group("");
}

const CommandOption* FlagOf(const CommandNode& node, const std::string& name) {
  for (const auto* options : {&node.options, &node.inherited}) {
    for (const CommandOption& option : *options) {
      if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
    }
  }
  return nullptr;
}

// Returns true for a flag added by AddPages; the command tree does not contain such flags.
bool IsHidden(const std::string& flag) {
  return flag == "--completion" || flag == "--manual-page";
}

// Returns a message with the new spelling if `word` is the old spelling of a flag or command, else "".
std::string NewSpelling(const std::vector<RenamedWord>& renamed, const CommandNode& node, const std::string& word) {
  const std::string command = absl::StrJoin(node.path, " ");
  for (const RenamedWord& each : renamed) {
    if (each.before == word && (each.command.empty() || each.command == command)) {
      return absl::StrCat(word, " is now ", each.now);
    }
  }
  return "";
}

std::string NoSuchFlag(const CommandNode& node, const std::string& flag) {
  std::vector<std::string> known;
  for (const auto* options : {&node.options, &node.inherited}) {
    for (const CommandOption& option : *options) {
      if (!option.argument) known.insert(known.end(), option.names.begin(), option.names.end());
    }
  }
  const std::string near = NearestWord(flag, known);
  return absl::StrCat("there is no flag ", flag, near.empty() ? "" : absl::StrCat("; did you mean ", near, "?"));
}

std::string NoSuchCommand(const CommandNode& node, const std::string& word) {
  std::vector<std::string> known;
  for (const CommandNode& command : node.commands) known.push_back(command.path.back());
  const std::string near = NearestWord(word, known);
  return absl::StrCat("there is no command ", word,
                      near.empty() ? absl::StrCat("; there are ", absl::StrJoin(known, ", "))
                                   : absl::StrCat("; did you mean ", near, "?"));
}

// Returns a message about the first word of the command line that is not a known flag or command. Returns "" if all
// words are known; CLI11's message is then used.
std::string FindUnknownWord(const CommandNode& root, const std::vector<RenamedWord>& renamed, int argc, char** argv) {
  const CommandNode* node = &root;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return "";
    if (absl::StartsWith(word, "--")) {
      const std::string name = word.substr(0, word.find('='));
      const CommandOption* flag = FlagOf(*node, name);
      if (flag == nullptr) {
        const std::string now = NewSpelling(renamed, *node, name);
        if (!now.empty()) return now;
        return IsHidden(name) ? "" : NoSuchFlag(*node, name);
      }
      if (flag->takes_value && name == word) ++i;
      continue;
    }
    const auto command = std::find_if(node->commands.begin(), node->commands.end(),
                                      [&](const CommandNode& each) { return each.path.back() == word; });
    if (command != node->commands.end()) {
      node = &*command;
      continue;
    }
    const bool takes_words = std::any_of(node->options.begin(), node->options.end(),
                                         [](const CommandOption& option) { return option.argument; });
    if (absl::StartsWith(word, "-")) {
      const CommandOption* flag = FlagOf(*node, word);
      if (flag != nullptr && flag->takes_value) ++i;
    } else if (!node->commands.empty() && !takes_words) {
      const std::string now = NewSpelling(renamed, *node, word);
      return now.empty() ? NoSuchCommand(*node, word) : now;
    }
  }
  return "";
}

// Returns the words after the program's name in reverse order, as CLI11 requires. A word "--flag=" becomes two words,
// the flag and an empty value, because CLI11 would use the next word as the value. If the flag takes a number, the word
// stays unchanged, because CLI11 would read an empty value as 0.
std::vector<std::string> ReversedWords(const CommandNode& root, int argc, char** argv) {
  const CommandNode* node = &root;
  std::vector<std::string> words;
  bool ended = false;  // "--" ended the flags
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    words.push_back(word);
    ended = ended || word == "--";
    if (ended) continue;
    const CommandOption* flag = absl::StartsWith(word, "-") ? FlagOf(*node, name) : nullptr;
    if (flag != nullptr && flag->takes_value && !flag->TakesNumber() && word == name + "=") {
      words.back() = name;
      words.emplace_back();
    } else if (flag != nullptr && flag->takes_value && word == name && i + 1 < argc) {
      words.emplace_back(argv[++i]);
    }
    const auto command = std::find_if(node->commands.begin(), node->commands.end(),
                                      [&](const CommandNode& each) { return each.path.back() == word; });
    if (command != node->commands.end()) node = &*command;
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// Returns CLI11's message. If the file of --config cannot be read, the message begins with this flag. If a value cannot
// be converted, the message ends with the expected form of the value. CLI11's message for CLI::NonNegativeNumber has a
// range, whose upper end is the largest double, with 309 digits; the result leaves this range out.
std::string MessageOf(const CLI::ParseError& error, const CommandNode& root) {
  std::string message = error.what();
  const size_t range = message.find(" not in range 0.000000 to 17976931348623157");
  if (range != std::string::npos) return message.substr(0, range) + " is not a number of at least 0";
  if (error.get_name() == "FileError") return "--config " + message;
  if (error.get_name() != "ConversionError") return message;
  const std::vector<std::string> words = absl::StrSplit(message, ' ');
  for (const CommandNode* node : AllCommands(root)) {
    for (const std::string& word : words) {
      const CommandOption* option = FlagOf(*node, word);
      if (option == nullptr) continue;
      const bool is_whole = option->value == "BYTES" || option->value == "N";
      return message + "; write " +
             (!option->takes_value ? "true or false"
              : is_whole           ? "a whole number"
                                   : "a number") +
             (option->value == "BYTES" ? " of bytes" : "");
    }
  }
  return message;
}

constexpr absl::string_view kWrongCommandLine = "vitrine/wrong-command-line";

}  // namespace

std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv, const std::vector<RenamedWord>& renamed) {
  EndWhenOutOfMemory(app.get_name());
  signal(SIGXFSZ, SIG_IGN);
  std::string version = app.get_name() + " " VITRINE_VERSION;
  if (!SourceRevision().empty()) absl::StrAppend(&version, " (", std::string(SourceRevision()), ")");
  app.set_version_flag("--version", version);
  AddPages(app, version);
  app.failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
  try {
    app.parse(ReversedWords(ReadCommandTree(app), argc, argv));
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kExitSuccess;  // --help or --version: CLI11 has printed the text on stdout
    const CommandNode root = ReadCommandTree(app);
    const std::string unknown = FindUnknownWord(root, renamed, argc, argv);
    std::cerr << app.get_name() << ": " << (unknown.empty() ? MessageOf(error, root) : unknown)
              << "\nRun with --help for more information.\n";
    return kExitUsage;
  }
  return std::nullopt;
}

absl::Status WrongCommandLine(absl::Status status) {
  status.SetPayload(kWrongCommandLine, absl::Cord());
  return status;
}

int EndOutput(std::string_view program, int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (written) return exit_code;
  // errno is 0 if this flush succeeded and an earlier write failed.
  std::cerr << program << ": the standard output cannot be written"
            << (errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno))) << "\n";
  return exit_code == kExitSuccess ? kExitFailure : exit_code;
}

int Fail(std::string_view program, const absl::Status& status) {
  std::cerr << program << ": " << status.message() << "\n";
  return status.GetPayload(kWrongCommandLine) ? kExitUsage : kExitFailure;
}

}  // namespace vitrine
