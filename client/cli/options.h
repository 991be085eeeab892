// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLI_OPTIONS_H_
#define VITRINE_CLIENT_CLI_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/commands/classify_command.h"
#include "client/commands/gate.h"
#include "client/lib/client.h"
#include "common/shard.h"

namespace vitrine {

// Functions that add the flags shared by several commands of `vitrine`. An argument passed by reference must outlive
// the parsing. Before the parsing it holds the default value, afterwards the user's value.

// Adds the flags of the server's address and connection: --server, --connect-timeout, --deadline and others.
void AddServerOptions(CLI::App& app, ClientOptions& options);
// Adds --admin, the address of the Admin service (default: $VITRINE_ADMIN). TLS and token come from AddServerOptions.
void AddAdminOption(CLI::App& app, std::string& address);
// Adds --format table|json.
void AddFormatOption(CLI::App& app, Format& format);
// Adds --require 'MEASURE>=BOUND', which may be repeated. `measures` must also outlive the parsing.
void AddRequireOption(CLI::App& app, std::vector<Gate>& gates, std::span<const GateMeasure> measures,
                      const std::string& help);
// Adds --model NAME[@VERSION].
void AddModelOption(CLI::App& app, ModelChoice& choice);
// Adds --resolution SIZE.
void AddResolutionOption(CLI::App& app, std::optional<v1::ResolutionWish>& resolution);
// Adds --shard I/N.
void AddShardOption(CLI::App& app, Shard& shard);
// Adds the flags that select images: IMAGE..., --recursive, --files-from, -0.
void AddImageOptions(CLI::App& app, std::vector<std::string>& paths, ImageSearch& search);
// Adds the flags that apply to every image: --resolution, --priority, --max-in-flight, --traceparent (default:
// $TRACEPARENT).
void AddRequestOptions(CLI::App& app, ClientOptions& options, std::optional<v1::ResolutionWish>& resolution,
                       v1::Priority& priority);

// Parses a positive duration with its unit: 500ms, 30s, 2m.
absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text);
// Adds an option for a positive duration. `duration` holds the default and the parsed value. `name` is in CLI11's
// syntax, for example "--deadline".
CLI::Option* AddDurationOption(CLI::App& app, const std::string& name, absl::Duration& duration,
                               const std::string& help);

// Returns a CLI11 check that fails if `parse` fails, with the message of its status.
template <typename Parse>
CLI::Validator Checked(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        if constexpr (std::is_same_v<decltype(parsed), const absl::Status>)
          return std::string(parsed.message());
        else
          return parsed.ok() ? std::string() : std::string(parsed.status().message());
      },
      "");
}
// Adds an option whose text `parse` parses into `value`. Errors of `parse` are usage errors.
template <typename Parse, typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, Parse parse, Value& value, const std::string& help,
                       const std::string& type) {
  return app
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = *parse(text); }, help)
      ->check(Checked(parse))
      ->type_name(type);
}

// Throws CLI::ValidationError if the command line has an option of `app` that is not in `effective`. Options whose
// value is from an environment variable are allowed. `why` completes the message: "has no effect with merge".
void CheckEffective(const CLI::App& app, const std::set<std::string>& effective, const std::string& why);

// Returns a check that accepts only `words`.
CLI::Validator OneOf(const std::vector<std::string>& words);

// Returns a help formatter that shows options as "--name WORD (default)". CLI11's own formatter would also show every
// check and conversion.
std::shared_ptr<CLI::Formatter> ShortHelp();

// Prints the error on stderr. If the server cannot be reached, adds the advice to start `server` or to give another
// address with `flag`. Returns kExitFailure, or kExitUsage if the options are invalid.
int FailWithHint(const absl::Status& error, const ClientOptions& options, absl::string_view server = "vitrine-server",
                 absl::string_view flag = "--server");

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLI_OPTIONS_H_
