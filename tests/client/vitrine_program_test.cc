// SPDX-License-Identifier: Apache-2.0
// The program `vitrine` and a server, each in a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <regex>
#include <vector>

#include "absl/time/clock.h"
#include "tests/client/shell.h"
#include "tests/imaging/pictures.h"
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
  const BundledServer server_{folder_};
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
  // A version that appears while somebody watches.
  const Ran watch = Shell(folder_, "mkfifo lines; " + kVitrine + "models watch" + at_ + R"( >lines &
      exec 3<lines; read -t 20 first <&3; echo "$first"
      cp -r repository/kv-pos-mnist/1 new; sed -i 's/^version: 1/version: 2/' new/manifest.textproto
      mv new repository/kv-pos-mnist/2
      while read -t 20 line <&3; do echo "$line"; [[ $line == *@2*ready ]] && break; done
      kill $!)");
  EXPECT_THAT(watch.out, HasSubstr("kv-pos-mnist@1  ready\n"));
  EXPECT_THAT(watch.out, HasSubstr("kv-pos-mnist@2  loading -> ready\n")) << watch.errors << folder_.Read("server.log");
}

TEST_F(VitrineProgram, TakesPicturesFromEverywhere) {
  const auto lines = [](const Ran& ran) { return std::count(ran.out.begin(), ran.out.end(), '\n'); };
  const std::string classify = kVitrine + "classify --format json" + at_;
  EXPECT_EQ(lines(Shell(folder_, classify + " in")), 1);
  EXPECT_EQ(lines(Shell(folder_, classify + " --recursive in")), 2);
  EXPECT_EQ(lines(Shell(folder_, classify + " 'in/*/*.png' in/a.png")), 2);
  EXPECT_EQ(lines(Shell(folder_, "find in -name '*.png' | " + classify + " --files-from -")), 2);
  EXPECT_EQ(lines(Shell(folder_, "find in -name '*.png' -print0 | " + classify + " -0 --files-from -")), 2);
  const Ran piped = Shell(folder_, "cat in/a.png | " + classify + " -");
  EXPECT_EQ(piped.exit_code, 0) << piped.errors;
  EXPECT_THAT(piped.out, StartsWith("{\"image\":\"-\""));
  const Ran drawn = Shell(folder_, kVitrine + "classify in/a.png --attention out --side-by-side" + at_);
  EXPECT_EQ(drawn.exit_code, 0) << drawn.errors;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out/a.attention.png"));
}

TEST_F(VitrineProgram, TellsTheServersLogWhereARequestBelongs) {
  const std::string one = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7", other(32, 'a');
  const std::string parent = "00-" + one + "-" + span + "-01";
  // Lines of requests in the server's log that have these ids, once there are as many.
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
  ExpectSuccess(kVitrine + "embed -r in --output o.npy --traceparent " + parent + at_);
  logged("ClassifyStream", one, 2);
  ExpectSuccess("TRACEPARENT=00-" + other + "-" + span + "-00 " + classify);
  logged("Classify", other, 1);
  // What others left in the environment does no harm; what was typed is checked.
  ExpectSuccess("TRACEPARENT=x " + classify);
  const Ran wrong = Shell(folder_, classify + " --traceparent x");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("\"x\" is no traceparent; one is"));
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

TEST_F(VitrineProgram, AsksForHealth) {
  // A model serves once it has computed something, which the server lets it do after it has said that it is ready.
  const std::string health = kVitrine + "health model/kv-pos-mnist" + at_;
  const Ran known = Shell(folder_, "for i in {1..100}; do " + health + " >said && break; sleep 0.1; done; cat said");
  EXPECT_EQ(known.out, "SERVING\n");
  const Ran unknown = Shell(folder_, kVitrine + "health kv-pos-mnist" + at_);
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("knows no \"kv-pos-mnist\"; ask for model/NAME"));
}

TEST_F(VitrineProgram, SendsSmallerWhatTheServerWouldNotRead) {
  folder_.Write("noise.png", PngFile(NoiseImage(2600, 2400, 3)));  // noise cannot be compressed
  ASSERT_GT(std::filesystem::file_size(folder_.path() / "noise.png"), 17 << 20);
  const std::string large = "vitrine: noise.png: its file is larger than the server takes; sent as ";
  for (const char* pictures : {"noise.png", "in/a.png noise.png in/deep/b.png"}) {
    const Ran ran = Shell(folder_, kVitrine + "classify --format json " + pictures + at_);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_THAT(ran.errors, StartsWith(large));
    EXPECT_THAT(ran.out, HasSubstr("\"sent_as\""));
  }
}

TEST_F(VitrineProgram, ExitsWithOneForWhatFailedAndTwoForAWrongCommand) {
  folder_.Write("in/cut.png", folder_.Read("in/a.png").substr(0, 100));
  const Ran some = Shell(folder_, kVitrine + "classify --format json in 'none*.png'" + at_);
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_THAT(some.out, HasSubstr("in/a.png"));
  EXPECT_THAT(some.errors, HasSubstr("vitrine: in/cut.png: "));
  EXPECT_THAT(some.errors, HasSubstr("vitrine: none*.png: no file matches this pattern"));
  for (const char* wrong : {"classify", "classify -0 a.png", "classify a.png --deadline 5",
                            "classify a.png --max-attempts 0", "classify a.png --side-by-side",
                            "classify a.png --attention o --side-by-side --sheet", "models --in-flight 3"}) {
    EXPECT_EQ(Shell(folder_, kVitrine + wrong).exit_code, 2) << wrong;
  }
  const auto refused = [&](const std::string& flags) {
    const Ran ran = Shell(folder_, kVitrine + "models " + flags);
    EXPECT_EQ(ran.exit_code, 1) << flags;
    return ran.errors;
  };
  EXPECT_EQ(refused("--server gpu-box"),
            "vitrine: the server's address \"gpu-box\" has no port; give host:port, as in "
            "gpu-box:8500 or [::1]:8500\n");
  EXPECT_EQ(refused("--tls-ca none.pem" + at_), "vitrine: none.pem: no such file or directory\n");
  EXPECT_THAT(refused("--tls" + at_), HasSubstr(": it does not speak TLS"));
  EXPECT_THAT(refused("--tls-cert a.pem" + at_), HasSubstr("belong together"));
  EXPECT_THAT(refused("--keepalive 1s" + at_), HasSubstr("at least 10s"));
  folder_.Write("token", "secret");
  EXPECT_THAT(refused("--token-file token --server 192.0.2.1:1"), HasSubstr("unencrypted; use TLS"));
  EXPECT_THAT(refused("serving --admin unix:nowhere"), HasSubstr("start vitrine-server with --admin there or name"));
  EXPECT_THAT(refused("--server unix:nowhere"), HasSubstr("there is no such socket; start vitrine-server there"));
  ExpectSuccess("VITRINE_TOKEN_FILE=token " + kVitrine + "models" + at_);
}

}  // namespace
}  // namespace vitrine
