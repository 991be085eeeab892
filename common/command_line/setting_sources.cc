// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/setting_sources.h"

#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/nearest.h"

namespace vitrine {
namespace {

constexpr size_t kLongestLine = 4096;  // maximum length of a line, in bytes

bool IsSetting(const CLI::Option* option) {
  return option != nullptr && !option->get_envname().empty();
}

// Returns the keys of all settings, such as "max-wait".
std::vector<std::string> Keys(const CLI::App& app) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : app.get_options(IsSetting)) keys.push_back(option->get_lnames().front());
  return keys;
}

std::string Variable(const std::string& prefix, const std::string& key) {
  return absl::StrCat(prefix, absl::AsciiStrToUpper(absl::StrReplaceAll(key, {{"-", "_"}})));
}

// Throws if a line of the file does not have one of the forms in setting_sources.h. CLI11 alone would join lines until
// a list ends, so that after a missing ] the following settings would become part of the list.
void CheckForm(const std::string& text) {
  static const std::regex kNothing(R"(\s*(#.*)?)"), kTable(R"(\s*\[.*)"),
      kSetting(R"(\s*([\w-]+)\s*=\s*("[^"#]*"|[^\s"'#,;\[\]=]+|\[\s*("[^"#]*"\s*(,\s*"[^"#]*"\s*)*)?\])\s*(#.*)?)");
  std::set<std::string> seen;
  int number = 0;
  for (const absl::string_view each : absl::StrSplit(text, '\n')) {
    const std::string line(absl::StripSuffix(each, "\r"));
    const std::string where = absl::StrCat("--config: line ", ++number);
    // std::regex recurses for each character, and a line of 32 kB would overflow the stack.
    if (line.size() > kLongestLine) {
      throw CLI::ConfigError(absl::StrCat(where, " has ", line.size(), " bytes; a line has at most ", kLongestLine));
    }
    std::smatch parts;
    if (std::regex_match(line, kNothing)) continue;
    if (std::regex_match(line, kTable)) {
      throw CLI::ConfigError(
          absl::StrCat(where, " is a table or a list; settings are lines of their own without tables"));
    }
    if (!std::regex_match(line, parts, kSetting)) {
      throw CLI::ConfigError(absl::StrCat(
          where, " is not KEY = VALUE: text is in double quotes, without a #; a list is [\"A\", \"B\"] on one line"));
    }
    if (!seen.insert(parts[1]).second)
      throw CLI::ConfigError(absl::StrCat(where, ": ", parts[1].str(), " is set twice"));
  }
}

// Reads a file with CLI11's parser and checks its form and keys. Leaves out settings that an environment variable also
// sets, because CLI11 would prefer the value in the file.
class SettingsFile : public CLI::ConfigTOML {
 public:
  // `app` must outlive the object.
  explicit SettingsFile(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text{std::istreambuf_iterator<char>(input), {}};
    CheckForm(text);
    std::istringstream checked(text);
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(checked);
    for (const CLI::ConfigItem& item : items) CheckKey(item.name);
    std::erase_if(items, [this](const CLI::ConfigItem& item) {
      const char* variable = std::getenv(app_.get_option("--" + item.name)->get_envname().c_str());
      return variable != nullptr && *variable != '\0';
    });
    return items;
  }

 private:
  void CheckKey(const std::string& key) const {
    if (IsSetting(app_.get_option_no_throw("--" + key))) return;
    const std::string near = NearestWord(key, Keys(app_));
    throw CLI::ConfigError(absl::StrCat("--config: there is no setting ", key,
                                        near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")));
  }

  const CLI::App& app_;
};

// Throws for a variable that was probably meant for a setting. Ignores variables that Kubernetes adds for a Service
// whose name begins like the prefix.
void CheckVariables(const CLI::App& app, const std::string& prefix) {
  static const std::regex kOfService(R"(.*_(PORT|SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?))");
  std::set<std::string> known;
  for (const std::string& key : Keys(app)) known.insert(Variable(prefix, key));
  for (char** each = environ; *each != nullptr; ++each) {
    const absl::string_view entry = *each;
    const std::string name(entry.substr(0, entry.find('=')));
    if (name == prefix + "CONFIG") throw CLI::ConfigError(name + " is not read; name the file with --config");
    if (!absl::StartsWith(name, prefix) || known.contains(name) || std::regex_match(name, kOfService)) continue;
    for (const std::string& meant : known) {
      if (WordDistance(name, meant) > 2) continue;
      throw CLI::ConfigError(absl::StrCat("there is no variable ", name, "; did you mean ", meant, "?"));
    }
  }
}

}  // namespace

void AddSettingSources(CLI::App& app, const std::string& prefix) {
  for (CLI::Option* option : app.get_options()) {
    if (option != app.get_help_ptr()) option->envname(Variable(prefix, option->get_lnames().front()));
  }
  // Rejects an empty value, which may come from an unset variable in a script. A server that starts without its file
  // may be open to all callers.
  app.set_config("--config", "", "settings in TOML, a line for each flag: KEY = VALUE")
      ->check([](const std::string& file) {
        return file.empty() ? std::string("the value is empty; name a file, or leave the flag out") : std::string();
      })
      ->type_name("FILE");
  app.config_formatter(std::make_shared<SettingsFile>(app));
  app.final_callback([&app, prefix] { CheckVariables(app, prefix); });
  app.footer(absl::StrCat(
      "A flag with (Env:NAME) may also be set by that environment variable, or in the file of --config, with its name\n"
      "without the dashes as the key: page = true. The flag overrides the variable, the variable overrides the file,\n"
      "and the file overrides the default."));
}

}  // namespace vitrine
