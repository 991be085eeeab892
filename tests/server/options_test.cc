// SPDX-License-Identifier: Apache-2.0
#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/command_line/setting_sources.h"
#include "tests/client/environment.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/server/parsed_options.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Parse;

ServerOptions Said(const std::vector<std::string>& flags) {
  std::vector<const char*> words = {"--repository", "/"};
  for (const std::string& flag : flags) words.push_back(flag.c_str());
  return Parse(words);
}

std::string FaultsOf(const std::vector<std::string>& flags) {
  return std::string(Said(flags).Validate().message());
}

TEST(ServerOptions, DefaultsNeedOnlyARepository) {
  ServerOptions options;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("--repository is missing"));
  options.repository = "/";
  EXPECT_TRUE(options.Validate().ok());
  options.repository = "s3://models";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("--repository-cache"));
  options.remote.cache = "/cache";
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  options.repository = "http://localhost:8000/models";
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  options.repository = "http://models.example/models";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("use https://"));
}

// Every flag has a value that differs from its default, and each of these values must take effect.
TEST(ServerOptions, EveryFlagTakesEffect) {
  const std::map<std::string, std::string> kSaid = {{"--listen", "a:1"},
                                                    {"--repository-cache", "/r"},
                                                    {"--repository-cache-bytes", "2"},
                                                    {"--repository-refresh", "3s"},
                                                    {"--socket", "unix:///b"},
                                                    {"--metrics", "c:3"},
                                                    {"--http", "d:4"},
                                                    {"--http-cors-origin", "https://d,https://e"},
                                                    {"--page-samples", "/p"},
                                                    {"--port-file", "/e"},
                                                    {"--device", "cuda:6"},
                                                    {"--device-batch-images", "5"},
                                                    {"--device-batch-tokens", "600"},
                                                    {"--device-batch-timeout", "7s"},
                                                    {"--precision", "bf16"},
                                                    {"--executors", "8"},
                                                    {"--lane-width", "9"},
                                                    {"--pin", "off"},
                                                    {"--probe-interval", "10s"},
                                                    {"--max-batch-tokens", "11"},
                                                    {"--max-batch-pixels", "12"},
                                                    {"--max-wait", "13ms"},
                                                    {"--max-queue-requests", "14"},
                                                    {"--max-queue-bytes", "15"},
                                                    {"--max-answer-bytes", "16"},
                                                    {"--max-message-bytes", "17"},
                                                    {"--max-transport-bytes", "18"},
                                                    {"--queues", "19"},
                                                    {"--max-metadata-bytes", "20"},
                                                    {"--max-concurrent-streams", "21"},
                                                    {"--max-connection-age", "22s"},
                                                    {"--connection-age-grace", "23s"},
                                                    {"--max-connection-idle", "24s"},
                                                    {"--keepalive-time", "25s"},
                                                    {"--keepalive-timeout", "26s"},
                                                    {"--min-ping-interval", "32s"},
                                                    {"--trusted-proxies", "10.0.0.0/8,::1"},
                                                    {"--max-connections-per-address", "33"},
                                                    {"--reset-limit", "3400"},
                                                    {"--tls-cert", "/f"},
                                                    {"--tls-key", "/g"},
                                                    {"--tls-client-ca", "/h"},
                                                    {"--tokens", "/i"},
                                                    {"--model", "/a,hf:b/c"},
                                                    {"--model-cache", "/d"},
                                                    {"--policy", "/j"},
                                                    {"--admin", "k:5"},
                                                    {"--audit-log", "/l"},
                                                    {"--health-listen", "m:6"},
                                                    {"--lame-duck", "27s"},
                                                    {"--drain-deadline", "28s"},
                                                    {"--hung-worker-timeout", "29s"},
                                                    {"--poll-interval", "30s"},
                                                    {"--serving-config", "/n"},
                                                    {"--admin-state", "/o"},
                                                    {"--otlp-endpoint", "http://collector:4318"},
                                                    {"--trace-sample", "0.25"},
                                                    {"--otlp-headers", "/headers"},
                                                    {"--log-level", "trace"},
                                                    {"--log-format", "json"},
                                                    {"--log-requests", "all"},
                                                    {"--log-slow-requests", "31s"},
                                                    {"--refuse-licence", "cc-by-nc*,none"}};
  std::vector<std::string> flags = {
      "--allow-empty", "--log-batches",      "--plaintext-tokens",         "--page",
      "--page-burst",  "--listen-grpc-only", "--tls-client-cert=optional", "--model-memory=32"};
  for (const auto& [flag, value] : kSaid) flags.push_back(absl::StrCat(flag, "=", value));
  const ServerOptions options = Said(flags);
  const auto told = FlagsInForce(options);
  const std::map<std::string, std::string> in_force(told.begin(), told.end());
  EXPECT_EQ(in_force.size(), kSaid.size() + flags.size() - kSaid.size() + 1) << "--repository, and no --help";
  for (const auto& [flag, value] : kSaid) EXPECT_EQ(in_force.at(flag), value) << flag;
  EXPECT_EQ(in_force.at("--allow-empty"), "true");
  EXPECT_EQ(in_force.at("--log-batches"), "true");
  EXPECT_EQ(in_force.at("--page"), "true");
  EXPECT_EQ(in_force.at("--listen-grpc-only"), "true");
  EXPECT_EQ(in_force.at("--plaintext-tokens"), "true");
  EXPECT_EQ(in_force.at("--tls-client-cert"), "optional");
  EXPECT_EQ(in_force.at("--model-memory"), "32");
  EXPECT_TRUE(options.allow_empty && options.executor.log_batches && options.identity.plaintext_tokens);
  EXPECT_TRUE(options.identity.tls.client_certificate_optional);
  EXPECT_EQ(options.registry.max_memory_bytes, 32);
  EXPECT_EQ(options.chosen.count("--model-memory"), 1u);

  const auto defaults = FlagsInForce({});
  const std::map<std::string, std::string> at_first(defaults.begin(), defaults.end());
  EXPECT_EQ(at_first.at("--allow-empty"), "false");
  EXPECT_EQ(at_first.at("--log-batches"), "false");
  EXPECT_EQ(at_first.at("--plaintext-tokens"), "false");
  EXPECT_EQ(at_first.at("--tls-client-cert"), "required");
  EXPECT_EQ(at_first.at("--model-memory"), "");
  EXPECT_FALSE(Said({"--tls-client-cert=required"}).identity.tls.client_certificate_optional);
}

TEST(ServerOptions, EveryRangeHasItsDocumentedLimits) {
  const struct {
    std::string flag, fault, first, last, before, behind;  // `first` to `last` is valid; an empty value is not tested
  } kRanges[] = {
      {"--max-message-bytes", "--max-message-bytes is", "1024", "1073741824", "1023", "1073741825"},
      {"--max-transport-bytes", "--max-transport-bytes is", "33554432", "1099511627776", "33554431", "1099511627777"},
      {"--max-metadata-bytes", "--max-metadata-bytes is", "1024", "1048576", "1023", "1048577"},
      {"--max-concurrent-streams", "--max-concurrent-streams is", "1", "1048576", "0", "1048577"},
      {"--max-connection-age", "--max-connection-age is", "1s", "inf", "999ms", ""},
      {"--connection-age-grace", "--connection-age-grace is", "0", "inf", "-1ns", ""},
      {"--max-connection-idle", "--max-connection-idle is", "1s", "inf", "999ms", ""},
      {"--keepalive-time", "--keepalive-time is", "1s", "inf", "999ms", ""},
      {"--keepalive-timeout", "--keepalive-timeout is", "1s", "1h", "999ms", "1h1ns"},
      {"--min-ping-interval", "--min-ping-interval is", "0", "1h", "-1ns", "1h1ns"},
      {"--reset-limit", "--reset-limit is", "100", "100000000", "99", "100000001"},
      {"--max-connections-per-address", "--max-connections-per-address is", "0", "1048576", "-1", "1048577"},
      {"--queues", "--queues is", "0", "256", "-1", "257"},
      {"--lame-duck", "--lame-duck is", "0", "1h", "-1ns", "1h1ns"},
      {"--drain-deadline", "--drain-deadline is", "0", "1h", "-1ns", "1h1ns"},
      {"--hung-worker-timeout", "--hung-worker-timeout is", "1ms", "inf", "999us", ""},
      {"--probe-interval", "--probe-interval is", "100ms", "inf", "99ms", ""},
      {"--poll-interval", "--poll-interval is", "10ms", "1h", "9ms", "1h1ns"},
      {"--log-slow-requests", "--log-slow-requests is", "1ns", "inf", "0", ""},
      {"--executors", "--executors is", "0", "1024", "-1", "1025"},
      {"--lane-width", "--lane-width is", "0", "1024", "-1", "1025"},
      {"--max-wait", "--max-wait is", "0", "10s", "-1ns", "10s1ns"},
      {"--max-batch-tokens", "--max-batch-tokens is", "1", "", "0", ""},
      {"--max-batch-pixels", "--max-batch-pixels is", "1", "", "0", ""},
      {"--max-queue-requests", "--max-queue-requests is", "1", "", "0", ""},
      {"--max-queue-bytes", "--max-queue-bytes is", "1", "", "0", ""},
      {"--max-answer-bytes", "--max-answer-bytes is", "1", "", "0", ""},
      {"--model-memory", "--model-memory is", "1", "", "0", ""},
      {"--device", "is not known", "cuda:0", "cuda:127", "cuda:-1", "cuda:128"},
  };
  for (const auto& [flag, fault, first, last, before, behind] : kRanges) {
    for (const std::string& value : {first, last}) {
      if (value.empty()) continue;
      EXPECT_THAT(FaultsOf({flag + "=" + value}), Not(HasSubstr(fault))) << flag << " " << value;
    }
    for (const std::string& value : {before, behind}) {
      if (value.empty()) continue;
      EXPECT_THAT(FaultsOf({flag + "=" + value}), HasSubstr(fault)) << flag << " " << value;
    }
  }
}

TEST(ServerOptions, DeviceBatchFlagsNeedADevice) {
  for (const std::string flag : {"--device-batch-images", "--device-batch-tokens"}) {
    EXPECT_EQ(FaultsOf({flag, "7"}), flag + " needs --device cuda:N");
    EXPECT_EQ(FaultsOf({flag, "7", "--device", "cuda:0"}), "");
    EXPECT_THAT(FaultsOf({flag, "0", "--device", "cuda:0"}), HasSubstr(flag + " is 0; it must be 1 to "));
  }
  for (const char* const value : {"7s", "10s"}) {
    EXPECT_EQ(FaultsOf({"--device-batch-timeout", value}), "--device-batch-timeout needs --device cuda:N") << value;
  }
  EXPECT_EQ(FaultsOf({"--device-batch-timeout", "7s", "--device", "cuda:0"}), "");
  EXPECT_THAT(FaultsOf({"--device-batch-timeout", "2m", "--device", "cuda:0"}),
              HasSubstr("must be shorter than --hung-worker-timeout"));
  EXPECT_THAT(FaultsOf({"--device-batch-timeout", "inf", "--device", "cuda:0"}),
              HasSubstr("--device-batch-timeout is"));
}

TEST(ServerOptions, AddressesAreHostAndPort) {
  for (const std::string flag : {"--listen", "--metrics", "--http", "--admin", "--health-listen"}) {
    const std::string fault = flag + " is \"";
    for (const char* good : {"a:0", "127.0.0.1:65535", "[::1]:80"}) {
      EXPECT_THAT(FaultsOf({flag + "=" + good}), Not(HasSubstr(fault))) << flag << " " << good;
    }
    for (const char* bad : {"a", ":80", "a:", "a:x", "a:-1", "a:65536", "*:80"}) {
      EXPECT_THAT(FaultsOf({flag + "=" + bad}), HasSubstr(fault)) << flag << " " << bad;
    }
  }
  for (const char* off : {"--metrics", "--http", "--admin", "--health-listen", "--socket"}) {
    EXPECT_EQ(FaultsOf({off, ""}), "") << off;
  }
  EXPECT_EQ(FaultsOf({"--admin=unix:///run/a", "--audit-log=/l", "--socket=unix:///run/b"}), "");
  EXPECT_THAT(FaultsOf({"--socket=/run/b"}), HasSubstr("--socket is \"/run/b\"; it must be unix:///PATH"));
  EXPECT_EQ(FaultsOf({"--audit-log=/l"}), "--audit-log needs --admin");
}

TEST(ServerOptions, ThePageNeedsAnHttpListener) {
  for (const std::string flag : {"--page", "--http-cors-origin=https://a"}) {
    EXPECT_EQ(FaultsOf({flag}), "");
    EXPECT_THAT(FaultsOf({flag, "--listen-grpc-only"}), HasSubstr("but --listen-grpc-only turns it off on --listen"));
    EXPECT_EQ(FaultsOf({flag, "--listen-grpc-only", "--http=a:80"}), "");
  }
  EXPECT_THAT(FaultsOf({"--http=a:80", "--page-samples=/p"}), HasSubstr("--page-samples needs --page"));
  EXPECT_EQ(FaultsOf({"--page", "--page-samples=/p"}), "");
}

TEST(ServerOptions, ResetLimitScalesAllAbuseLimits) {
  const HttpAbuseLimits defaults, limits = Said({"--reset-limit=500"}).abuse;
  EXPECT_EQ(limits.connection_rate, 500);
  for (const auto field :
       {&HttpAbuseLimits::connection_burst, &HttpAbuseLimits::address_rate, &HttpAbuseLimits::address_burst}) {
    EXPECT_DOUBLE_EQ(limits.*field / limits.connection_rate, defaults.*field / defaults.connection_rate);
  }
  EXPECT_EQ(limits.connect_rate, defaults.connect_rate);
}

TEST(ServerOptions, TrustedProxiesAreNetworks) {
  EXPECT_EQ(FaultsOf({"--trusted-proxies=10.0.0.0/8,127.0.0.1,fd00::/8"}), "");
  for (const char* wrong : {"10.0.0.0/33", "proxy.example", "10.0.0"}) {
    EXPECT_THAT(FaultsOf({std::string("--trusted-proxies=10.0.0.0/8,") + wrong}),
                AllOf(HasSubstr("--trusted-proxies"), HasSubstr(wrong)));
  }
}

TEST(ServerOptions, RefuseLicenceTakesAListOfPatterns) {
  EXPECT_THAT(Said({"--refuse-licence=cc-by-nc*,gpl*", "--refuse-licence=none"}).registry.refused_licences,
              ::testing::ElementsAre("cc-by-nc*", "gpl*", "none"));
  EXPECT_THAT(FaultsOf({"--refuse-licence= "}), HasSubstr("--refuse-licence has an empty pattern"));
}

TEST(ServerOptions, AnEmptyNameOfACredentialFileIsRefused) {
  for (const char* flag : {"--tokens", "--policy", "--tls-cert", "--tls-key", "--tls-client-ca"}) {
    EXPECT_THROW(testing::Parse({flag, ""}), CLI::ValidationError) << flag;
  }
}

TEST(ServerOptions, TokensOnPlaintextNetworksAreRefused) {
  const std::string http = "--http=0.0.0.0:80", local = "--listen=127.0.0.1:1", tokens = "--tokens=/t";
  EXPECT_THAT(FaultsOf({local, http, tokens}),
              HasSubstr("--http is 0.0.0.0:80, where tokens would cross the network unencrypted"));
  EXPECT_EQ(FaultsOf({local, http, tokens, "--tls-cert=/c", "--tls-key=/k"}), "") << "the port has TLS then";
  EXPECT_EQ(FaultsOf({local, "--http=127.0.0.1:80", tokens}), "");
  EXPECT_EQ(FaultsOf({local, http, tokens, "--plaintext-tokens"}), "");
  EXPECT_EQ(FaultsOf({http}), "") << "nobody has a token";
}

TEST(ServerOptions, FlagsWithoutEffectAreRefused) {
  EXPECT_EQ(FaultsOf({"--model-cache=/c"}), "--model-cache needs --model");
  EXPECT_THAT(FaultsOf({"--repository-cache-bytes=1"}), HasSubstr("--repository-cache-bytes needs a remote"));
  EXPECT_THAT(FaultsOf({"--repository-refresh=5s"}), HasSubstr("--repository-refresh needs a remote"));
  EXPECT_EQ(FaultsOf({"--trace-sample=0.5"}), "--trace-sample needs --otlp-endpoint");
  EXPECT_THAT(FaultsOf({"--log-slow-requests=1s", "--log-requests=none"}),
              HasSubstr("--log-slow-requests has no effect"));
}

TEST(ServerOptions, FlagsWithFixedChoicesRefuseOtherWords) {
  for (const char* good :
       {"--log-level=trace", "--log-level=off", "--log-format=text", "--log-format=json", "--pin=auto", "--pin=on",
        "--pin=off", "--precision=auto", "--precision=fp32", "--precision=int8"}) {
    EXPECT_EQ(FaultsOf({good}), "") << good;
  }
  for (const std::string flag : {"--log-level", "--log-format", "--pin", "--precision", "--log-requests"}) {
    EXPECT_THAT(FaultsOf({flag + "=loud"}), HasSubstr(flag + " is \"loud\"")) << flag;
  }
  EXPECT_THROW(Said({"--tls-client-cert=maybe"}), CLI::ValidationError);
}

TEST(ServerOptions, ADurationWithoutAUnitIsRefused) {
  EXPECT_THROW(Parse({"--lame-duck", "5"}), CLI::ValidationError);
}

TEST(ServerOptions, UrlsAndTheStarWildcardAreRefused) {
  EXPECT_THAT(
      FaultsOf({"--http", "http://127.0.0.1:8000/v1"}),
      HasSubstr("--http is \"http://127.0.0.1:8000/v1\", a URL; give only its host and port, as in 127.0.0.1:8000"));
  ServerOptions options;
  options.repository = "/";
  options.rpc.listen = "[::]:0";
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  options.rpc.listen = "*:0";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("write 0.0.0.0"));
}

TEST(ServerOptions, AllFaultsAreNamedAtOnce) {
  ServerOptions options;
  options.repository = "/nowhere";
  options.rpc.listen = "localhost";
  options.metrics = "localhost:99999";
  options.device = "gpu";
  options.batch.max_batch_tokens = 0;
  options.rpc.queues = -1;
  options.rpc.max_transport_bytes = 2 * options.rpc.max_message_bytes - 1;
  options.lame_duck = -absl::Seconds(1);
  options.log_level = "loud";
  const absl::Status status = options.Validate();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("/nowhere"), HasSubstr("\"localhost\""), HasSubstr("99999"), HasSubstr("gpu"),
            HasSubstr("--max-batch-tokens is 0"), HasSubstr("--queues is -1"),
            HasSubstr("--max-transport-bytes is 33554431"), HasSubstr("--lame-duck is -1s"), HasSubstr("loud")));
}

// Parses a --config file with these lines and no other flags. Calls `then` with the results.
void ParseFile(const std::string& lines, const std::function<void(CLI::App&, const ServerOptions&)>& then) {
  const ScratchFolder folder;
  ServerOptions options;
  CLI::App app;
  BindFlags(app, options);
  AddSettingSources(app, "VITRINE_SERVER_");
  app.parse("--config " + folder.Write("server.toml", lines).string());
  then(app, options);
}

TEST(ServerOptions, EveryFlagCanBeSetByFileOrVariable) {
  for (const auto& [flag, value] : FlagsInForce(ServerOptions())) {
    const std::string key = flag.substr(2), given = value.empty() ? "1" : value;
    ParseFile(absl::StrCat(key, " = \"", given, "\""),
              [&](CLI::App& app, const ServerOptions&) { EXPECT_EQ(app.count("--" + key), 1) << key; });
    ParseFile("", [&](CLI::App& app, const ServerOptions&) {
      const Environment variable(app.get_option("--" + key)->get_envname(), given.c_str());
      app.parse("");
      EXPECT_EQ(app.count("--" + key), 1) << key;
    });
  }
}

TEST(ServerOptions, TheInstalledFileIsValidAndShowsTheDefaults) {
  const ServerOptions defaults;
  const auto flags = FlagsInForce(defaults);
  const std::regex comment(R"re(#([a-z-]+) = "?([^"#]*)"?)re");
  std::ifstream file(VITRINE_SOURCE "/deploy/debian/server.toml");
  std::string as_installed, uncommented;
  for (std::string line; std::getline(file, line);) {
    absl::StrAppend(&as_installed, line, "\n");
    std::smatch setting;
    const bool is_setting = std::regex_search(line, setting, std::regex("^#[a-z-]+ = "));
    absl::StrAppend(&uncommented, is_setting ? line.substr(1) : line, "\n");
    if (!std::regex_match(line, setting, comment)) continue;
    EXPECT_THAT(flags, ::testing::Contains(std::pair("--" + setting[1].str(), setting[2].str()))) << line;
  }
  ParseFile(as_installed, [](CLI::App&, const ServerOptions& options) {
    EXPECT_EQ(options.repository, "/var/lib/vitrine/models");
    EXPECT_EQ(options.rpc.listen, "127.0.0.1:8500");
  });
  ParseFile(uncommented, [](CLI::App&, const ServerOptions& options) {
    EXPECT_THAT(options.trusted_proxies, ::testing::ElementsAre("10.0.0.0/8", "fd00::/8"));
  });
}

}  // namespace
}  // namespace vitrine
