// SPDX-License-Identifier: Apache-2.0
#include "client/cli/options.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/commands/output/text.h"
#include "client/lib/channel.h"
#include "client/lib/connect/address.h"
#include "client/lib/traceparent.h"
#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

class ShortHelpFormatter : public CLI::Formatter {
 public:
  ShortHelpFormatter() { column_width(34); }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string standard = option->get_default_str();
    return " " + option->get_type_name() + (standard.empty() ? "" : " (" + standard + ")");
  }
  std::string make_option_usage(const CLI::Option* option) const override { return option->get_name() + "..."; }
};

// Returns true if the command line has the option; false if its value is from an environment variable.
bool IsGiven(const CLI::Option& option) {
  if (option.count() == 0) return false;
  const char* const value = option.get_envname().empty() ? nullptr : std::getenv(option.get_envname().c_str());
  return value == nullptr || option.results() != std::vector<std::string>{value};
}

}  // namespace

void CheckEffective(const CLI::App& app, const std::set<std::string>& effective, const std::string& why) {
  for (const CLI::Option* option : app.get_options()) {
    if (effective.contains(option->get_name()) || !IsGiven(*option)) continue;
    throw CLI::ValidationError(option->get_name(), why);
  }
}

std::shared_ptr<CLI::Formatter> ShortHelp() {
  return std::make_shared<ShortHelpFormatter>();
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  CLI::IsMember check(words);
  return check.name(check.get_description()).description("");
}

absl::StatusOr<absl::Duration> ParsePositiveDuration(const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return duration;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no duration; give a number with a unit, as in 500ms, 30s or 2m"));
}

CLI::Option* AddDurationOption(CLI::App& app, const std::string& name, absl::Duration& duration,
                               const std::string& help) {
  return AddParsed(app, name, ParsePositiveDuration, duration, help, "TIME")
      ->default_str(absl::FormatDuration(duration));
}

namespace {

// Adds a TLS option. Giving the option also enables TLS.
CLI::Option* AddTlsFile(CLI::App& app, const std::string& name, ClientOptions& options, std::string TlsOptions::*member,
                        const std::string& help, const std::string& type) {
  return app
      .add_option_function<std::string>(
          name,
          [&options, member](const std::string& text) {
            if (!options.tls.has_value()) options.tls.emplace();
            (*options.tls).*member = text;
          },
          help)
      ->type_name(type);
}

void AddSecurity(CLI::App& app, ClientOptions& options) {
  app.add_flag_callback(
      "--tls",
      [&options] {
        if (!options.tls.has_value()) options.tls.emplace();
      },
      "use TLS with the system's CA certificates");
  AddTlsFile(app, "--tls-ca", options, &TlsOptions::ca_file, "use TLS with the CA certificates in this PEM file",
             "FILE");
  CLI::Option* certificate = AddTlsFile(app, "--tls-cert", options, &TlsOptions::certificate_file,
                                        "use TLS with this client certificate, in PEM", "FILE");
  CLI::Option* key =
      AddTlsFile(app, "--tls-key", options, &TlsOptions::key_file, "private key for --tls-cert, in PEM", "FILE");
  certificate->needs(key);
  key->needs(certificate);
  AddTlsFile(app, "--tls-server-name", options, &TlsOptions::server_name,
             "use TLS; name in the server's certificate if it differs from\n--server", "NAME");
  if (const char* token = std::getenv("VITRINE_TOKEN"); token != nullptr) options.token = token;
  app.add_option_function<std::string>(
         "--token-file",
         [&options](const std::string& file) {
           options.token_file = file;
           options.token.clear();
         },
         "file with a bearer token, sent only over TLS or within this\nmachine; also $VITRINE_TOKEN_FILE, or the token "
         "itself in\n"
         "$VITRINE_TOKEN")
      ->envname("VITRINE_TOKEN_FILE")
      ->type_name("FILE");
}

}  // namespace

void AddServerOptions(CLI::App& app, ClientOptions& options) {
  app.add_option("--server", options.address,
                 "host:port (several separated by commas), dns:///name:port or\nunix:PATH; also $VITRINE_SERVER")
      ->envname("VITRINE_SERVER")
      ->check(Checked(ParseAddress))
      ->type_name("ADDRESS")
      ->capture_default_str();
  AddDurationOption(app, "--connect-timeout", options.connect_timeout, "maximum wait for the connection");
  AddDurationOption(app, "--deadline", options.deadline, "time for one request, including its retries");
  app.add_option("--max-attempts", options.retry.max_attempts,
                 "maximum attempts when the server is overloaded or\nthe connection is lost, 1 to 20")
      ->check(CLI::Range(1, 20).description(""))
      ->type_name("N")
      ->capture_default_str();
  AddDurationOption(app, "--keepalive", options.keepalive,
                    "interval of pings to a silent server, at least 10s;\ndefault: no pings")
      ->check([](const std::string& text) {
        ClientOptions options;
        options.keepalive = *ParsePositiveDuration(text);  // cannot fail: an earlier check validated the text
        return std::string(options.Validate().message());
      })
      ->default_str("");
  AddSecurity(app, options);
}

void AddAdminOption(CLI::App& app, std::string& address) {
  app.add_option("--admin", address, "host:port or unix:PATH of vitrine-server --admin; also\n$VITRINE_ADMIN")
      ->envname("VITRINE_ADMIN")
      ->check(Checked(ParseAddress))
      ->type_name("ADDRESS");
}

void AddFormatOption(CLI::App& app, Format& format) {
  app.add_option_function<std::string>(
         "--format", [&format](const std::string& word) { format = word == "json" ? Format::kJson : Format::kTable; },
         "table, or json: one object per line")
      ->check(OneOf({"table", "json"}))
      ->type_name("FORMAT")
      ->default_str(format == Format::kJson ? "json" : "table");
}

void AddRequireOption(CLI::App& app, std::vector<Gate>& gates, std::span<const GateMeasure> measures,
                      const std::string& help) {
  app.add_option_function<std::vector<std::string>>(
         "--require",
         [&gates, measures](const std::vector<std::string>& texts) {
           gates.clear();
           for (const std::string& text : texts) gates.push_back(*ParseGate(text, measures));
         },
         help)
      ->allow_extra_args(false)
      ->check(Checked([measures](const std::string& text) { return ParseGate(text, measures); }))
      ->type_name("GATE");
}

void AddModelOption(CLI::App& app, ModelChoice& choice) {
  AddParsed(app, "--model", ParseModelChoice, choice,
            "model; default: the only ready model. The version is a number\nor a label, as in NAME@canary",
            "NAME[@VERSION]");
}

void AddResolutionOption(CLI::App& app, std::optional<v1::ResolutionWish>& resolution) {
  AddParsed(app, "--resolution", ParseResolution, resolution,
            "input size for models with native resolution: 48, or 48x32\n(rows x columns)", "SIZE");
}

void AddShardOption(CLI::App& app, Shard& shard) {
  AddParsed(
      app, "--shard", ParseShard, shard,
      "one shard of several, as in 3/8; /8 reads the number from\n$JOB_COMPLETION_INDEX (Kubernetes Indexed Jobs)",
      "I/N");
}

void AddImageOptions(CLI::App& app, std::vector<std::string>& paths, ImageSearch& search) {
  app.add_option("IMAGE", paths,
                 "JPEG, PNG or WebP files, folders, quoted patterns; - is an\nimage on the standard input")
      ->type_name("");
  app.add_flag("-r,--recursive", search.recursive, "include subfolders");
  CLI::Option* list =
      app.add_option("--files-from", search.files_from, "file with a path per line; - is the standard input");
  list->type_name("FILE");
  app.add_flag("-0,--null", search.null_separated, "paths in --files-from end with zero bytes (find -print0)")
      ->needs(list);
  app.callback([&paths, &search] {
    if (paths.empty() && search.files_from.empty()) throw CLI::RequiredError("IMAGE or --files-from");
  });
}

void AddRequestOptions(CLI::App& app, ClientOptions& options, std::optional<v1::ResolutionWish>& resolution,
                       v1::Priority& priority) {
  AddResolutionOption(app, resolution);
  app.add_option_function<std::string>(
         "--priority",
         [&priority](const std::string& word) {
           priority = word == "low" ? v1::LOW : word == "high" ? v1::HIGH : v1::NORMAL;
         },
         "scheduling priority: low, normal or high")
      ->check(OneOf({"low", "normal", "high"}))
      ->type_name("WORD")
      ->default_str("normal");
  app.add_option("--max-in-flight", options.max_in_flight, "maximum number of images in flight, 1 to 64")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str();
  // A malformed value in the environment is ignored, as the W3C's Trace Context requires.
  if (const char* parent = std::getenv("TRACEPARENT"); parent != nullptr && CheckTraceparent(parent).ok()) {
    options.traceparent = parent;
  }
  app.add_option("--traceparent", options.traceparent,
                 "W3C trace context of the requests: 00-TRACEID-SPANID-FLAGS;\nalso $TRACEPARENT")
      ->check(Checked(CheckTraceparent))
      ->type_name("TRACE");
}

namespace {

// Returns advice, such as a flag to add, if `message` contains the words that CauseOf uses for a TLS failure; else
// empty.
absl::string_view TlsRemedy(absl::string_view message) {
  constexpr std::pair<absl::string_view, absl::string_view> kRemedies[] = {
      {"not signed by a CA that this system trusts", "give the CA's certificate with --tls-ca"},
      {"has no CA that signed its certificate", "give the certificate of that CA with --tls-ca"},
      {"its certificate is for another name", "give a name of the certificate with --tls-server-name"},
      {"it does not speak TLS", "leave out --tls and the other flags of TLS, or give another address"},
      {"it may require TLS", "try --tls, with --tls-ca if its CA is your own"},
      {"it may require a client certificate", "give one with --tls-cert and --tls-key"},
  };
  for (const auto& [words, remedy] : kRemedies) {
    if (absl::StrContains(message, words)) return remedy;
  }
  return "";
}

// Makes each line of a message printable, because a server's message may have control characters. Keeps the line
// breaks, because some messages have several lines.
std::string PrintableLines(absl::string_view message) {
  return absl::StrJoin(absl::StrSplit(message, '\n'), "\n",
                       [](std::string* text, absl::string_view line) { absl::StrAppend(text, Printable(line)); });
}

}  // namespace

int FailWithHint(const absl::Status& error, const ClientOptions& options, absl::string_view server,
                 absl::string_view flag) {
  const absl::Status status(error.code(), PrintableLines(error.message()));
  // If the options alone cause the error, the command line or its environment variables are wrong.
  if (absl::IsInvalidArgument(status) &&
      (!options.Validate().ok() || absl::IsInvalidArgument(TokenOf(options).status()))) {
    return Fail("vitrine", WrongCommandLine(status));
  }
  const bool is_other_port = absl::StrContains(status.message(), "does not speak gRPC") ||
                             absl::StrContains(status.message(), "does not have this call");
  if (is_other_port && status.message().find(options.address) == absl::string_view::npos) {
    return Fail("vitrine", absl::UnimplementedError(absl::StrCat(options.address, ": ", status.message())));
  }
  const bool proxied = status.message().find(" through the proxy ") != absl::string_view::npos;
  const bool unreachable =
      !proxied && absl::IsUnavailable(status) && status.message().find(options.address) != absl::string_view::npos;
  if (!unreachable) return Fail("vitrine", status);
  if (const absl::string_view remedy = TlsRemedy(status.message()); !remedy.empty()) {
    return Fail("vitrine", absl::UnavailableError(absl::StrCat(status.message(), "; ", remedy)));
  }
  return Fail("vitrine", absl::UnavailableError(absl::StrCat(status.message(), "; start ", server,
                                                             " there or give another address with ", flag)));
}

}  // namespace vitrine
