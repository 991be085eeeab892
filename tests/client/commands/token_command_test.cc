// SPDX-License-Identifier: Apache-2.0
#include "client/commands/token_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/sha256.h"
#include "tests/file_size_limit.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

// Makes a token and returns it without the line end.
std::string Made(const std::string& name, const std::string& file) {
  std::ostringstream out;
  EXPECT_EQ(MakeToken(name, file, out), absl::OkStatus());
  EXPECT_THAT(out.str(), testing::MatchesRegex("vitrine_[A-Za-z0-9_-]{43}\n")) << "a token must have 256 bits";
  return out.str().substr(0, out.str().size() - 1);
}

std::string LineOf(const std::string& name, const std::string& token) {
  return name + " sha256:" + Sha256Hex(token) + "\n";
}

TEST(MakeToken, StoresTheDigestAndPrintsTheToken) {
  const ScratchFolder folder;
  const std::string first = Made("alice", folder.Path("tokens")), second = Made("alice", folder.Path("tokens"));
  EXPECT_NE(first, second);
  EXPECT_EQ(folder.Read("tokens"), LineOf("alice", first) + LineOf("alice", second));
  EXPECT_EQ(std::filesystem::status(folder.Path("tokens")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(MakeToken, AddsAMissingLineEndBeforeItsLine) {
  const ScratchFolder folder;
  for (const auto& [before, end] : {std::pair("", ""), {"x", "\n"}, {"# callers", "\n"}, {"# callers\n", ""}}) {
    folder.Write("tokens", before);
    const std::string token = Made("bob", folder.Path("tokens"));
    EXPECT_EQ(folder.Read("tokens"), std::string(before) + end + LineOf("bob", token));
  }
}

TEST(MakeToken, RefusesNamesThatWouldBreakTheLine) {
  const ScratchFolder folder;
  for (const std::string& fine : {std::string("a"), std::string("aZ09_.-"), std::string(64, 'n')}) {
    Made(fine, folder.Path("fine"));
  }
  for (const std::string& wrong :
       {std::string(), std::string(65, 'n'), std::string("a b"), std::string("a\n"), std::string("\xC3\xBC")}) {
    std::ostringstream out;
    const absl::Status status = MakeToken(wrong, folder.Path("tokens"), out);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_EQ(out.str(), "");
  }
  EXPECT_FALSE(std::filesystem::exists(folder.Path("tokens")));
  std::ostringstream out;
  EXPECT_EQ(MakeToken("a\n", folder.Path("tokens"), out).message(),
            "\"a\\n\" is no name; a name has 1 to 64 letters, digits, '_', '.' and '-'");
}

TEST(MakeToken, MakesNoTokenIfTheFileCannotBeWritten) {
  const ScratchFolder folder;
  std::ostringstream out;
  EXPECT_EQ(MakeToken("alice", folder.Path("none/tokens"), out),
            absl::NotFoundError("cannot write " + folder.Path("none/tokens") + ": No such file or directory"));
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(
      MakeToken("alice", "/dev/full", out),
      absl::ResourceExhaustedError("cannot write /dev/full: No space left on device; the printed token is not valid"));
}

TEST(MakeToken, RemovesAnIncompleteLine) {
  const ScratchFolder folder;
  folder.Write("tokens", "# callers\n");
  std::ostringstream out;
  {
    const FileSizeLimit limit(30);
    EXPECT_EQ(MakeToken("alice", folder.Path("tokens"), out),
              absl::ResourceExhaustedError("cannot write " + folder.Path("tokens") +
                                           ": No space left on device; the printed token is not valid"));
  }
  EXPECT_EQ(folder.Read("tokens"), "# callers\n");
}

TEST(MakeToken, ATokenThatCannotBePrintedIsNotInTheFile) {
  const ScratchFolder folder;
  folder.Write("tokens", "# callers\n");
  std::ofstream full("/dev/full");
  EXPECT_EQ(MakeToken("alice", folder.Path("tokens"), full),
            absl::UnavailableError("the token cannot be printed; " + folder.Path("tokens") + " does not contain it"));
  EXPECT_EQ(folder.Read("tokens"), "# callers\n");
}

}  // namespace
}  // namespace vitrine
