// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_CLIENT_OPTIONS_H_
#define VITRINE_PROGRAMS_CLIENT_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/classify_command.h"
#include "client/client.h"
#include "client/gate.h"

namespace vitrine {

// The flags that several commands of `vitrine` share. What they are given must outlive the parsing; it holds the
// defaults, and the parsed values afterwards.

// Where the server is and how to talk to it: --server, --connect-timeout, --deadline.
void AddServerOptions(CLI::App& app, ClientOptions& options);
// Where the Admin service is, with TLS and token of AddServerOptions: --admin, else $VITRINE_ADMIN.
void AddAdminOption(CLI::App& app, std::string& address);
// --format table|json
void AddFormatOption(CLI::App& app, Format& format);
// --require 'MEASURE>=BOUND', which may be there several times. `measures` must outlive the parsing as well.
void AddRequireOption(CLI::App& app, std::vector<Gate>& gates, std::span<const GateMeasure> measures,
                      const std::string& help);
// --model NAME[@VERSION]
void AddModelOption(CLI::App& app, ModelChoice& choice);
// Which pictures: IMAGE..., --recursive, --files-from, -0.
void AddPictureOptions(CLI::App& app, std::vector<std::string>& paths, PictureSearch& search);
// What goes with every picture: --resolution, --priority, --in-flight, --traceparent, else $TRACEPARENT.
void AddRequestOptions(CLI::App& app, ClientOptions& options, std::optional<v1::ResolutionWish>& resolution,
                       v1::Priority& priority);

// A positive duration with its unit: 500ms, 30s, 2m.
absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text);
// An option that takes one, written into `duration`, which holds the default. The name is CLI11's: "--deadline".
CLI::Option* AddDurationOption(CLI::App& app, const std::string& name, absl::Duration& duration,
                               const std::string& help);

// A check that turns a parser's status into CLI11's way of saying "wrong".
template <typename Parse>
CLI::Validator Checked(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed.ok() ? std::string() : std::string(parsed.status().message());
      },
      "");
}
// One of these words.
CLI::Validator OneOf(const std::vector<std::string>& words);

// Options as "--name WORD (default)": CLI11's own form spells out every check and conversion.
std::shared_ptr<CLI::Formatter> ShortHelp();

// Says on stderr what went wrong and, where no server answers, what to do about it: start `server` there, or name
// another with `flag`. Returns kExitFailure.
int FailWithHint(const absl::Status& status, const ClientOptions& options, absl::string_view server = "vitrine-server",
                 absl::string_view flag = "--server");

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_CLIENT_OPTIONS_H_
