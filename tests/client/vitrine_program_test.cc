// SPDX-License-Identifier: Apache-2.0
// Tests the program `vitrine` with a server in another process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/drawing/attention_words.h"
#include "common/sha256.h"
#include "tests/client/shell.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kVitrine = VITRINE_BIN "/vitrine ";

class VitrineProgram : public testing::Test {
 protected:
  VitrineProgram() {
    const std::filesystem::path samples = VITRINE_SOURCE "/samples/digits";
    std::filesystem::create_directories(folder_.path() / "in/deep");
    std::filesystem::copy(samples / "digit-3.png", folder_.path() / "in/a.png");
    std::filesystem::copy(samples / "digit-7.png", folder_.path() / "in/deep/b.png");
  }

  void ExpectSuccess(const std::string& command) {
    const Ran ran = Shell(folder_, command);
    EXPECT_EQ(ran.exit_code, 0) << command << ": " << ran.errors;
  }

  const ScratchFolder folder_;
  const BundledServer server_{folder_, "--admin 127.0.0.1:0"};
  const std::string at_ = " --server " + server_.address();
};

TEST_F(VitrineProgram, ListsShowsAndWatches) {
  const Ran bare = Shell(folder_, kVitrine + "models" + at_), list = Shell(folder_, kVitrine + "models list" + at_);
  EXPECT_EQ(bare.exit_code, 0) << bare.errors;
  EXPECT_THAT(bare.out, HasSubstr("kv-pos-mnist"));
  EXPECT_EQ(bare.out, list.out);
  const Ran show = Shell(folder_, kVitrine + "models show kv-pos-mnist@1" + at_);
  EXPECT_EQ(show.exit_code, 0) << show.errors;
  EXPECT_THAT(show.out, StartsWith("kv-pos-mnist version 1\n  state       ready\n"));
  const Ran json = Shell(folder_, kVitrine + "models show" + at_ + " --format json");
  EXPECT_THAT(json.out, HasSubstr("\"labels\":["));
  const Ran missing = Shell(folder_, kVitrine + "models show other" + at_);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("\"other\""));
  EXPECT_EQ(Shell(folder_, kVitrine + "models show kv-pos-mnist@X" + at_).exit_code, 2);
  EXPECT_EQ(Shell(folder_, kVitrine + "models sing" + at_).exit_code, 2);
  // A new version appears during the watch.
  const Ran watch = Shell(folder_, "mkfifo lines; " + kVitrine + "models watch" + at_ + R"( >lines &
      exec 3<lines; read -t 20 first <&3; echo "$first"
      cp -r repository/kv-pos-mnist/1 new; sed -i 's/^version: 1/version: 2/' new/manifest.textproto
      mv new repository/kv-pos-mnist/2
      while read -t 20 line <&3; do echo "$line"; [[ $line == *@2*ready ]] && break; done
      kill $!)");
  EXPECT_THAT(watch.out, HasSubstr("kv-pos-mnist@1  ready\n"));
  EXPECT_THAT(watch.out, HasSubstr("kv-pos-mnist@2  loading -> ready\n")) << watch.errors << folder_.Read("server.log");
}

TEST_F(VitrineProgram, AcceptsImagesFromFilesListsAndStandardInput) {
  const auto lines = [](const Ran& ran) { return std::count(ran.out.begin(), ran.out.end(), '\n'); };
  const std::string classify = kVitrine + "classify --format json" + at_;
  EXPECT_EQ(lines(Shell(folder_, classify + " --recursive in")), 2);
  EXPECT_EQ(lines(Shell(folder_, "find in -name '*.png' -print0 | " + classify + " -0 --files-from -")), 2);
  const Ran piped = Shell(folder_, "cat in/a.png | " + classify + " -");
  EXPECT_EQ(piped.exit_code, 0) << piped.errors;
  EXPECT_THAT(piped.out, StartsWith("{\"image\":\"-\""));
  const Ran drawn = Shell(folder_, kVitrine + "classify in/a.png --out out --side-by-side" + at_);
  EXPECT_EQ(drawn.exit_code, 0) << drawn.errors;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out/a.attention.png"));
}

TEST_F(VitrineProgram, SendsTraceIdsThatAppearInTheServersLog) {
  const std::string one = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7", other(32, 'a');
  const std::string parent = "00-" + one + "-" + span + "-01";
  // Waits up to ten seconds until the server's log has `wanted` lines about requests with this trace.
  const auto logged = [&](const std::string& method, const std::string& trace, int wanted) {
    const std::regex line("request method=" + method + " [^\n]*trace_id=" + trace + " span_id=" + span);
    std::string log;
    long found = 0;
    for (const absl::Time end = absl::Now() + absl::Seconds(10); absl::Now() < end && found < wanted;) {
      log = folder_.Read("server.log");
      found = std::distance(std::sregex_iterator(log.begin(), log.end(), line), std::sregex_iterator());
    }
    EXPECT_EQ(found, wanted) << log;
  };
  const std::string classify = kVitrine + "classify in/a.png" + at_;
  ExpectSuccess(classify + " --traceparent " + parent);
  logged("Classify", one, 1);
  ExpectSuccess(kVitrine + "embed -r in --out o.npy --traceparent " + parent + at_);
  logged("ClassifyStream", one, 2);
  ExpectSuccess("TRACEPARENT=00-" + other + "-" + span + "-00 " + classify);
  logged("Classify", other, 1);
  // An invalid environment variable TRACEPARENT is ignored, but an invalid --traceparent is an error.
  ExpectSuccess("TRACEPARENT=x " + classify);
  const Ran wrong = Shell(folder_, classify + " --traceparent x");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("\"x\" is no traceparent; the form is"));
}

TEST_F(VitrineProgram, HelpOfEveryCommandHasAnExample) {
  const std::regex command("\n  ([a-z]+) +[A-Z]");
  std::function<void(const std::string&)> look = [&](const std::string& words) {
    const Ran help = Shell(folder_, kVitrine + words + " --help");
    EXPECT_EQ(help.exit_code, 0) << words;
    const size_t examples = help.out.find("xample");
    ASSERT_NE(examples, std::string::npos) << words;
    EXPECT_THAT(help.out.substr(examples), HasSubstr("vitrine " + words)) << words;
    const size_t at = help.out.find("Subcommands:");
    if (at == std::string::npos) return;
    const std::string listed = help.out.substr(at);
    const std::vector<std::string> found(std::sregex_token_iterator(listed.begin(), listed.end(), command, 1), {});
    EXPECT_FALSE(found.empty()) << help.out;
    for (const std::string& name : found) look(words.empty() ? name : words + " " + name);
  };
  look("");
}

TEST_F(VitrineProgram, ReportsHealth) {
  // The server reports readiness before the model computes its first result. The model's health becomes SERVING only
  // after that result.
  const std::string health = kVitrine + "health model/kv-pos-mnist" + at_;
  const Ran known = Shell(folder_, "for i in {1..100}; do " + health + " >said && break; sleep 0.1; done; cat said");
  EXPECT_EQ(known.out, "SERVING\n");
  const Ran unknown = Shell(folder_, kVitrine + "health kv-pos-mnist" + at_);
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("has no service \"kv-pos-mnist\"; give model/NAME"));
}

TEST_F(VitrineProgram, ExitsWithOneForFailuresAndTwoForWrongCommands) {
  folder_.Write("in/cut.png", folder_.Read("in/a.png").substr(0, 100));
  const Ran some = Shell(folder_, kVitrine + "classify --format json in 'none*.png'" + at_);
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_THAT(some.out, HasSubstr("in/a.png"));
  EXPECT_THAT(some.errors, HasSubstr("vitrine: in/cut.png: "));
  EXPECT_THAT(some.errors, HasSubstr("vitrine: none*.png: no file matches this pattern"));
  for (const char* command :
       {"classify", "classify -0 a.png", "classify a.png --deadline 5", "classify a.png --max-attempts 0",
        "classify a.png --side-by-side", "classify a.png --out o --side-by-side --sheet", "models --max-in-flight 3",
        "models watch kv-pos-mnist@stable", "embed a.png", "eval --data none --out o", "eval --data none:x --out o",
        "eval --data mnist:x compare a b", "eval --out o merge a --out p", "token new 'a b' --out o",
        "health --server a", "bench --server a", "eval --server a --data mnist:x --out o", "admin serving --admin a"}) {
    EXPECT_EQ(Shell(folder_, kVitrine + command).exit_code, 2) << command;
  }
  for (const char* flags : {"in", "--out o", "in --out o --shard 4/3", "in --out o --embeddings patches", "merge in",
                            "in merge a --out o", "--repository r merge a --out o"}) {
    EXPECT_EQ(Shell(folder_, kVitrine + "score " + flags).exit_code, 2) << flags;
  }
  for (const char* words :
       {"load", "unload m", "unload m@1 --all", "traffic m", "traffic m 3", "traffic m 3=200", "traffic m 1=5 --clear",
        "label m stable", "policy m some", "policy m latest 0", "reset m@1", "load m@canary", "serving m@1"}) {
    EXPECT_EQ(Shell(folder_, kVitrine + "admin " + words + " --admin unix:nowhere").exit_code, 2) << words;
  }
  EXPECT_THAT(Shell(folder_, kVitrine + "score a.tar b.tar --out o").errors, HasSubstr("a pattern in quotes"));
  for (const char* command : {"VITRINE_SERVER=a vitrine models", "VITRINE_ADMIN=a vitrine admin serving"}) {
    EXPECT_EQ(Shell(folder_, "PATH=" VITRINE_BIN ":$PATH " + std::string(command)).exit_code, 2) << command;
  }
  const auto refused = [&](const std::string& flags, int code = 1) {
    const Ran ran = Shell(folder_, kVitrine + "models " + flags);
    EXPECT_EQ(ran.exit_code, code) << flags;
    return ran.errors;
  };
  const auto wrong = [&](const std::string& flags) { return refused(flags, 2); };
  EXPECT_THAT(Shell(folder_, kVitrine + "admin serving --admin unix:nowhere").errors,
              HasSubstr("start vitrine-server with --admin there or give"));
  EXPECT_EQ(wrong("--server gpu-box"),
            "vitrine: --server: the server's address \"gpu-box\" has no port; give host:port, as in "
            "gpu-box:8500 or [::1]:8500\nRun with --help for more information.\n");
  EXPECT_THAT(wrong("--tls --server a.test:1,b.test:1"), HasSubstr("--tls-server-name"));
  EXPECT_EQ(refused("--tls-ca none.pem" + at_), "vitrine: none.pem: no such file or directory\n");
  EXPECT_THAT(refused("--tls" + at_), HasSubstr(": it does not speak TLS; leave out --tls"));
  EXPECT_THAT(wrong("--tls-cert a.pem" + at_), HasSubstr("--tls-cert requires --tls-key"));
  EXPECT_THAT(wrong("--tls-key a.pem" + at_), HasSubstr("--tls-key requires --tls-cert"));
  EXPECT_THAT(wrong("--keepalive 1s" + at_), HasSubstr("vitrine: --keepalive: "));
  EXPECT_THAT(wrong("--keepalive 1s" + at_), HasSubstr("at least 10s"));
  folder_.Write("token", "secret");
  EXPECT_THAT(wrong("--token-file token --server 192.0.2.1:1"), HasSubstr("unencrypted; use TLS"));
  EXPECT_THAT(refused("--server unix:nowhere"), HasSubstr("there is no such socket; start vitrine-server there"));
  ExpectSuccess("VITRINE_TOKEN_FILE=token " + kVitrine + "models" + at_);
}

TEST_F(VitrineProgram, FailsIfItsOutputIsLost) {
  const std::string lost = "vitrine: the standard output cannot be written";
  for (const std::string& command : {"models" + at_, "models watch" + at_, "health" + at_, "classify in/a.png" + at_,
                                     "embed in/a.png --format json" + at_, "bench --duration 100ms --warmup 0s" + at_,
                                     std::string("--help"), std::string("--completion bash")}) {
    const Ran ran = Shell(folder_, "timeout 60 " + kVitrine + command + " >/dev/full");
    EXPECT_EQ(ran.exit_code, 1) << command;
    EXPECT_THAT(ran.errors, HasSubstr(lost)) << command;
  }
  folder_.Write("tokens", "# callers\n");
  const Ran token = Shell(folder_, kVitrine + "token new ci --out tokens >/dev/full");
  EXPECT_EQ(token.exit_code, 1);
  EXPECT_THAT(token.errors, StartsWith("vitrine: the token cannot be printed; tokens does not contain it\n" + lost));
  EXPECT_EQ(folder_.Read("tokens"), "# callers\n");
}

TEST_F(VitrineProgram, SuggestsTheIntendedCommandOrFlag) {
  const auto said = [&](const std::string& words) {
    const Ran ran = Shell(folder_, kVitrine + words);
    EXPECT_EQ(ran.exit_code, 2) << words;
    return ran.errors.substr(0, ran.errors.find('\n'));
  };
  EXPECT_EQ(said("clasify in/a.png"), "vitrine: there is no command clasify; did you mean classify?");
  EXPECT_EQ(said("admin rollbak x"), "vitrine: there is no command rollbak; did you mean rollback?");
  EXPECT_EQ(said("eval comprae a b"), "vitrine: there is no command comprae; did you mean compare?");
  EXPECT_THAT(said("dance"),
              StartsWith("vitrine: there is no command dance; there are classify, embed, models, admin"));
  EXPECT_EQ(said("classify in/a.png --modle x"), "vitrine: there is no flag --modle; did you mean --model?");
  EXPECT_EQ(said("eval --dta=x"), "vitrine: there is no flag --dta; did you mean --data?")
      << "the message must not say that --data is required";
  EXPECT_EQ(said("admin rollback x --admn y"), "vitrine: there is no flag --admn; did you mean --admin?");
  for (const auto& [words, now] : std::vector<std::pair<std::string, std::string>>{
           {"classify in/a.png --attention-kind mean --out o", "--attention-kind is now --attention"},
           {"classify in/a.png --out o --layer=0 --head 1", "--layer is now --layers"},
           {"classify in/a.png --attention-query 3,4", "--attention-query is now --query"},
           {"classify --in-flight 3 in/a.png", "--in-flight is now --max-in-flight"},
           {"classify in/a.png --attention o/", "--attention: o/ not in {" + absl::StrJoin(AttentionKindNames(), ",") +
                                                    "}; the folder of the drawings is --out"},
           {"classify in/a.png --models a,b --sheet m.png",
            "--sheet: with --models the file is --out FILE.png or --out FILE.html"},
           {"embed in --output o.npy", "--output is now --out"},
           {"embed in --kind mean", "--kind is now --feature"},
           {"bench --find-max --precision 0.1", "--precision is now --tolerance"},
           {"bench --features class+mean",
            "--features: features \"class+mean\": separate kinds by commas now, class,mean"},
           {"token new ci --file tokens", "--file is now --out"},
           {"models load kv-pos-mnist --admin unix:x", "load is now vitrine admin load"},
           {"models serving", "serving is now vitrine admin serving"}}) {
    EXPECT_EQ(said(words), "vitrine: " + now);
  }
  EXPECT_EQ(said("classify in/a.png --frobnicate"), "vitrine: there is no flag --frobnicate");
  EXPECT_EQ(said("classify"), "vitrine: IMAGE or --files-from is required");
  const Ran server = Shell(folder_, VITRINE_BIN "/vitrine-server --repositry repository");
  EXPECT_THAT(server.errors, StartsWith("vitrine-server: there is no flag --repositry; did you mean --repository?"));
  const Ran model = Shell(folder_, kVitrine + "classify in/a.png --model kv-pos-mnits" + at_);
  EXPECT_EQ(model.errors,
            "vitrine: there is no model \"kv-pos-mnits\"; did you mean \"kv-pos-mnist\"? There is \"kv-pos-mnist\"\n");
}

TEST_F(VitrineProgram, DescribesInvalidAddressesImagesAndPorts) {
  const auto refused = [&](const std::string& words, int code = 1) {
    const Ran ran = Shell(folder_, kVitrine + words);
    EXPECT_EQ(ran.exit_code, code) << words;
    return ran.errors;
  };
  EXPECT_THAT(refused("models --server http://" + server_.address(), 2),
              HasSubstr("is a URL; give its host and port, as in " + server_.address()));
  EXPECT_THAT(refused("classify https://example.org/cat.jpg" + at_),
              HasSubstr("this is a URL, but images are read from files"));
  EXPECT_THAT(refused("admin serving --admin " + server_.address()), HasSubstr("there is no Admin service at"));
  EXPECT_THAT(refused("admin load kv-pos-mnist --admin " + server_.address()),
              HasSubstr("give the address of vitrine-server --admin"));
  std::smatch metrics;
  const std::string log = folder_.Read("server.log");
  ASSERT_TRUE(std::regex_search(log, metrics, std::regex("listening on (\\S+) \\(HTTP")));
  EXPECT_THAT(refused("models --server " + std::string(metrics[1])),
              HasSubstr(std::string(metrics[1]) + ": the server there does not speak gRPC"));
  EXPECT_THAT(refused("admin serving --admin " + std::string(metrics[1])), HasSubstr("that of --admin"));
  std::smatch admin;
  ASSERT_TRUE(std::regex_search(log, admin, std::regex("listening on (\\S+) \\(gRPC: admin")));
  EXPECT_THAT(refused("models --server " + std::string(admin[1])),
              HasSubstr("may be that of vitrine-server --admin or --health-listen: give the host:port of --listen"));
}

// The server's policy allows a caller with this token to call the Classifier service, and no other service.
TEST(VitrineProgramWithPolicy, ACallerWithOnlyClassifyRightsCanClassify) {
  const ScratchFolder folder;
  folder.Write("token", std::string(48, 'a'));
  folder.Write("tokens", "app sha256:" + Sha256Hex(std::string(48, 'a')) + "\n");
  folder.Write("policy", R"(roles { name: "app" methods: "/vitrine.v1.Classifier/*" models: "*" }
                            callers { token: "app" roles: "app" })");
  std::filesystem::permissions(folder.path() / "tokens", std::filesystem::perms::owner_read);
  const BundledServer server(folder, "--tokens tokens --policy policy");
  const std::string digit = VITRINE_SOURCE "/samples/digits/digit-7.png",
                    at = " --token-file token --server " + server.address();
  const auto run = [&](const std::string& words, int code) {
    const Ran ran = Shell(folder, kVitrine + words + at);
    EXPECT_EQ(ran.exit_code, code) << ran.errors;
    return ran.out + ran.errors;
  };
  EXPECT_THAT(run("classify --model kv-pos-mnist " + digit, 0), HasSubstr("7"));
  EXPECT_THAT(run("classify --model kv-pos-mnist@1 --format json " + digit + " " + digit, 0),
              HasSubstr("\"version\":1"));
  EXPECT_THAT(run("classify " + digit, 1), HasSubstr("name the model with --model"));
  EXPECT_THAT(run("classify --model kv-pos-mnits " + digit, 1), HasSubstr("did you mean \"kv-pos-mnist\"?"));
  EXPECT_THAT(run("classify --model kv-pos-mnist --out out " + digit, 1), HasSubstr("with --attention"));
  run("classify --model kv-pos-mnist --out out --attention mean " + digit, 0);
  EXPECT_THAT(run("classify --model kv-pos-mnist --out out --attention mean --heads all " + digit, 1),
              HasSubstr("give --heads as numbers"));
  EXPECT_THAT(run("models show kv-pos-mnist", 1), HasSubstr("must allow /vitrine.v1.Registry/GetModel"));
  EXPECT_THAT(run("embed --model kv-pos-mnist --out f.npy " + digit, 1), HasSubstr("name one with --feature"));
  run("embed --model kv-pos-mnist --feature class --out f.npy " + digit, 0);
  for (int label : {3, 7}) {
    const std::filesystem::path kind = folder.path() / "digits" / std::to_string(label);
    std::filesystem::create_directories(kind);
    std::filesystem::copy(VITRINE_SOURCE "/samples/digits/digit-" + std::to_string(label) + ".png", kind / "one.png");
  }
  EXPECT_THAT(run("eval --model kv-pos-mnist --data imagefolder:digits --out results", 0), HasSubstr("2"));
}

}  // namespace
}  // namespace vitrine
