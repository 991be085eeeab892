// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/setting_sources.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/nearest.h"

namespace vitrine {
namespace {

// Names up to this length have too many neighbours for a hint: VITRINE_SERVER_PORT, which Kubernetes sets for a Service
// named vitrine-server, is two letters from PAGE.
constexpr size_t kShortName = 4;

bool IsSetting(const CLI::Option* option) {
  return option != nullptr && !option->get_envname().empty();
}

// Returns the keys of all settings: "max-wait".
std::vector<std::string> Keys(const CLI::App& app) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : app.get_options(IsSetting)) keys.push_back(option->get_lnames().front());
  return keys;
}

std::string Variable(const std::string& prefix, const std::string& key) {
  return absl::StrCat(prefix, absl::AsciiStrToUpper(absl::StrReplaceAll(key, {{"-", "_"}})));
}

// Reads a file by CLI11's parser, checks the keys, and leaves out those that a variable overrides: by itself CLI11
// prefers the file.
class SettingsFile : public CLI::ConfigTOML {
 public:
  // `app` must outlive the object.
  explicit SettingsFile(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> items = CLI::ConfigTOML::from_config(input);
    std::set<std::string> seen;
    for (const CLI::ConfigItem& item : items) Check(item, !seen.insert(item.name).second);
    std::erase_if(items, [this](const CLI::ConfigItem& item) {
      const char* variable = std::getenv(app_.get_option("--" + item.name)->get_envname().c_str());
      return variable != nullptr && *variable != '\0';
    });
    return items;
  }

 private:
  void Check(const CLI::ConfigItem& item, bool repeated) const {
    if (!item.parents.empty()) {
      throw CLI::ConfigError(absl::StrCat("--config: the file has a table [", item.parents.front(),
                                          "]; settings stand outside of tables"));
    }
    if (!IsSetting(app_.get_option_no_throw("--" + item.name))) {
      const std::string near = NearestWord(item.name, Keys(app_));
      throw CLI::ConfigError(absl::StrCat("--config: there is no setting ", item.name,
                                          near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")));
    }
    if (repeated) throw CLI::ConfigError(absl::StrCat("--config: ", item.name, " is set twice"));
    for (const std::string& value : item.inputs) {
      if (absl::StartsWith(value, "\"")) {
        throw CLI::ConfigError(absl::StrCat("--config: the text of ", item.name, " does not end with \" before a #"));
      }
    }
  }

  const CLI::App& app_;
};

// Throws for a variable that was probably meant for a setting. Others with the prefix are none of our business, since
// Kubernetes adds some for each Service.
void CheckVariables(const CLI::App& app, const std::string& prefix) {
  std::set<std::string> known;
  for (const std::string& key : Keys(app)) known.insert(Variable(prefix, key));
  for (char** each = environ; *each != nullptr; ++each) {
    const absl::string_view entry = *each;
    const std::string name(entry.substr(0, entry.find('=')));
    if (!absl::StartsWith(name, prefix) || name.size() <= prefix.size() + kShortName || known.contains(name)) continue;
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
  app.set_config("--config", "", "settings in TOML, a line for each flag: KEY = VALUE")->type_name("FILE");
  app.config_formatter(std::make_shared<SettingsFile>(app));
  app.preparse_callback([&app, prefix](size_t) { CheckVariables(app, prefix); });
  app.footer(absl::StrCat(
      "A flag with (Env:NAME) may also be set by that environment variable, or in the file of --config, with its name\n"
      "without the dashes as the key: page = true. The flag overrides the variable, the variable overrides the file,\n"
      "and the file overrides the default."));
}

}  // namespace vitrine
