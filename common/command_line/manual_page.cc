// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/command_line/command_tree.h"

namespace vitrine {
namespace {

// Escapes text within a line of roff.
std::string Roff(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"`", "\\(ga"}, {"^", "\\(ha"}, {"~", "\\(ti"}});
}

// Returns a line of roff. Text that starts like a roff command is escaped.
std::string RoffLine(absl::string_view text) {
  const std::string line = Roff(text);
  return absl::StrCat(line.substr(0, 1) == "." ? "\\&" : "", line, "\n");
}

// Returns text that roff may reflow. Indented lines, and all lines if `plain`, keep their line breaks.
std::string RoffText(absl::string_view text, bool plain) {
  std::string page;
  bool kept = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool keep = plain || line.substr(0, 2) == "  ";
    if (keep != kept) absl::StrAppend(&page, keep ? ".nf\n" : ".fi\n");
    kept = keep;
    absl::StrAppend(&page, line.empty() ? "\\&\n" : RoffLine(line));
  }
  return absl::StrCat(page, kept ? ".fi\n" : "");
}

std::string OptionTerm(const CommandOption& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(absl::StrCat("\\fB", Roff(name), "\\fR"));
  std::string term = absl::StrJoin(names, ", ");
  if (option.takes_value && !option.argument && !option.value.empty()) {
    absl::StrAppend(&term, " \\fI", Roff(option.value), "\\fR");
  }
  if (!option.standard.empty()) absl::StrAppend(&term, " (", Roff(option.standard), ")");
  return term;
}

std::string Options(const CommandNode& node) {
  std::string page;
  for (const CommandOption& option : node.options) {
    absl::StrAppend(&page, ".TP\n", OptionTerm(option), "\n", RoffText(option.help, /*plain=*/false));
    if (!option.choices.empty())
      absl::StrAppend(&page, RoffLine("One of " + absl::StrJoin(option.choices, ", ") + "."));
  }
  return page;
}

std::string Synopsis(const std::string& program, const CommandNode& node) {
  std::string line = absl::StrCat("\\fB", Roff(program), "\\fR");
  for (const std::string& word : node.path) absl::StrAppend(&line, " \\fB", Roff(word), "\\fR");
  if (!node.commands.empty()) absl::StrAppend(&line, " \\fICOMMAND\\fR");
  for (const CommandOption& option : node.options) {
    if (option.argument) absl::StrAppend(&line, " \\fI", Roff(option.names.front()), "\\fR");
  }
  return absl::StrCat(line, " [\\fIflags\\fR]\n");
}

}  // namespace

std::string ManualPage(const std::string& program, const std::string& version, const CommandNode& root) {
  std::string page = absl::StrCat(".TH \"", absl::AsciiStrToUpper(Roff(program)), "\" 1 \"\" \"", Roff(version),
                                  "\" \"Vitrine\"\n.SH NAME\n", Roff(program), " \\- ", RoffLine(root.help),
                                  ".SH SYNOPSIS\n", Synopsis(program, root), ".SH OPTIONS\n", Options(root));
  const std::vector<const CommandNode*> commands = AllCommands(root);
  if (commands.size() > 1) absl::StrAppend(&page, ".SH COMMANDS\n");
  for (const CommandNode* command : commands) {
    if (command == &root) continue;
    absl::StrAppend(&page, ".SS ", Roff(absl::StrJoin(command->path, " ")), "\n", RoffText(command->help, false),
                    ".PP\n", Synopsis(program, *command), Options(*command));
    if (!command->footer.empty()) absl::StrAppend(&page, ".PP\n", RoffText(command->footer, /*plain=*/true));
  }
  if (!root.footer.empty()) absl::StrAppend(&page, ".SH NOTES\n", RoffText(root.footer, /*plain=*/true));
  page.pop_back();  // removed because the caller prints the line break
  return page;
}

}  // namespace vitrine
