// SPDX-License-Identifier: Apache-2.0
// Tests `prune`, `remove`, `list` and `verify` of vitrine-repo on a repository with several versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "models/repository/stored_version.h"
#include "tests/models/tool/repo_program.h"
#include "tests/paths.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class RepoRemoval : public RepoProgram {
 protected:
  RepoRemoval() {
    for (int i = 0; i < 5; ++i) CopyFrom(VITRINE_SOURCE "/models/bundled", "digits");
    CopyFrom(VITRINE_SOURCE "/models/bundled", "other");
  }
  // Adds a version of the model `digits`.
  void CopyFrom(const std::string& source, const std::string& as) {
    const StoredVersion stored = *ReadVersion(source, {"kv-pos-mnist", 1});
    Draft draft{stored.manifest, stored.weights, stored.golden, stored.labels, {}};
    ASSERT_TRUE(Publish(folder_ / "m", as, draft).ok());
  }
  std::vector<std::string> Left() const {
    std::vector<std::string> left;
    const std::vector<VersionId> versions = *ListVersionFolders(folder_ / "m");
    for (const VersionId& id : versions) left.push_back(absl::StrCat(id.model, id.version));
    return left;
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return Path(name);
  }
};

TEST_F(RepoRemoval, PruneKeepsTheNewestAndVersionsNamedByServers) {
  const std::string serving = Write("serving",
                                    "models { model: 'digits' labels { label: 'stable' version: 2 }\n"
                                    "  traffic { version: 3 percent: 5 } }\n");
  const std::string state = Write("state", "models { model: 'digits' loaded: 1 }");
  const std::string files = absl::StrCat(" --serving-config ", serving, " --admin-state ", state);
  Outcome prune = Run(absl::StrCat("prune ", Path("m"), " --keep 1 --dry-run", files));
  EXPECT_EQ(prune.exit_code, 0) << prune.error;
  EXPECT_EQ(prune.out, "would be removed  digits/4\n");
  EXPECT_THAT(prune.error, AllOf(HasSubstr("kept  digits/2: label \"stable\" names it"),
                                 HasSubstr("kept  digits/3: a share of the traffic names it"),
                                 HasSubstr("kept  digits/1: the list of loaded versions names it")));
  EXPECT_EQ(Left().size(), 6u);
  prune = Shell(absl::StrCat(kProgram, " prune ", Path("m"), " --keep 1", files, " < /dev/null"));
  EXPECT_EQ(prune.exit_code, 1);
  EXPECT_THAT(prune.error, HasSubstr("nothing was removed: stdin is not a terminal; --yes"));
  EXPECT_EQ(Left().size(), 6u);
  prune = Run(absl::StrCat("prune ", Path("m"), " digits --keep 1 --yes", files));
  EXPECT_EQ(prune.exit_code, 0) << prune.error;
  EXPECT_EQ(prune.out, "removed  digits/4\n");
  EXPECT_THAT(Left(), ElementsAre("digits1", "digits2", "digits3", "digits5", "other1"));
  prune = Run(absl::StrCat("prune ", Path("m"), " --keep 2 --yes"));
  EXPECT_THAT(prune.error, HasSubstr("labels and policies of servers are not checked"));
  EXPECT_THAT(Left(), ElementsAre("digits3", "digits5", "other1"));
}

TEST_F(RepoRemoval, NamesThatTheRepositoryLacksAreReported) {
  const std::string serving = Write("serving",
                                    "models { model: 'digit' labels { label: 'stable' version: 2 } }\n"
                                    "models { model: 'digits' labels { label: 'canary' version: 7 } }");
  for (const char* words : {"prune M --keep 1", "remove M digits@1"}) {
    const std::string command = absl::StrReplaceAll(words, {{"M", Path("m")}});
    const Outcome removal = Run(absl::StrCat(command, " --dry-run --serving-config ", serving));
    EXPECT_EQ(removal.exit_code, 0) << removal.error;
    EXPECT_THAT(removal.error, AllOf(HasSubstr("name the model \"digit\", which the repository does not have"),
                                     HasSubstr("label \"canary\" names digits/7, which the repository does not have")));
  }
}

TEST_F(RepoRemoval, PruneKeepsVersionsServedByAPolicy) {
  const std::string serving =
      Write("serving", "default_policy { latest: 3 } models { model: 'other' version_policy { all: true } }");
  Outcome prune = Run(absl::StrCat("prune ", Path("m"), " --keep 1 --yes --serving-config ", serving));
  EXPECT_EQ(prune.exit_code, 0) << prune.error;
  EXPECT_THAT(prune.error, HasSubstr("kept  other: its policy serves every version"));
  EXPECT_THAT(Left(), ElementsAre("digits3", "digits4", "digits5", "other1"));
  Write("serving", "models { modle: 'x' }");
  prune = Run(absl::StrCat("prune ", Path("m"), " --keep 1 --yes --serving-config ", serving));
  EXPECT_EQ(prune.exit_code, 1);
  EXPECT_THAT(prune.error, AllOf(HasSubstr("line 1"), HasSubstr("modle")));
  EXPECT_EQ(Run(absl::StrCat("prune ", Path("m"), " --keep 1 --yes --serving-config ", Path("gone"))).exit_code, 1);
  EXPECT_EQ(Run(absl::StrCat("prune ", Path("m"), " --keep 0 --yes")).exit_code, 2);
  EXPECT_EQ(Left().size(), 4u);
}

TEST_F(RepoRemoval, PruneCountsVersionsLikeServers) {
  const std::string tried = Write("tried", "models { model: 'digits' traffic { version: 5 percent: 5 } }");
  const std::string labelled = Write("labelled", "models { model: 'digits' labels { label: 'canary' version: 5 } }");
  const std::string away = Write("away", "models { model: 'digits' put_away { version: 5 } }");
  for (const std::string& files :
       {" --serving-config " + tried, " --serving-config " + labelled, " --admin-state " + away}) {
    const Outcome prune = Run(absl::StrCat("prune ", Path("m"), " digits --keep 1 --dry-run", files));
    EXPECT_EQ(prune.exit_code, 0) << prune.error;
    EXPECT_EQ(prune.out, "would be removed  digits/3\nwould be removed  digits/2\nwould be removed  digits/1\n")
        << files;
    EXPECT_THAT(prune.error, HasSubstr("kept  digits/5: it is not counted among the newest"));
  }
  // `--keep` counts a version with the label stable among the newest versions. Traffic and labels of the admin state
  // override the traffic and labels of the serving config.
  const std::string stable = Write("stable", "models { model: 'digits' labels { label: 'stable' version: 5 } }");
  const std::string none = Write("none", "models { model: 'digits' traffic {} labels { label: 'canary' version: 0 } }");
  for (const std::string& files : {" --serving-config " + tried + " --admin-state " + stable,
                                   " --serving-config " + tried + " --admin-state " + none,
                                   " --serving-config " + labelled + " --admin-state " + none}) {
    const Outcome prune = Run(absl::StrCat("prune ", Path("m"), " digits --keep 1 --dry-run", files));
    EXPECT_THAT(prune.out, HasSubstr("would be removed  digits/4")) << files;
  }
}

TEST_F(RepoRemoval, AFolderAsServerFileIsRefused) {
  for (const char* flag : {" --serving-config ", " --admin-state "}) {
    const Outcome prune = Run(absl::StrCat("prune ", Path("m"), " --keep 1 --yes", flag, Path("m")));
    EXPECT_EQ(prune.exit_code, 1) << flag;
    EXPECT_THAT(prune.error, HasSubstr(Path("m") + ": is a folder"));
  }
  EXPECT_EQ(Left().size(), 6u);
}

TEST_F(RepoRemoval, PruneCountsOnlyValidVersions) {
  std::ofstream(folder_ / "m/digits/5/weights.safetensors") << "broken";
  std::filesystem::remove(folder_ / "m/digits/4/manifest.textproto");
  const Outcome prune = Run(absl::StrCat("prune ", Path("m"), " --keep 1 --yes"));
  EXPECT_EQ(prune.exit_code, 0) << prune.error;
  EXPECT_THAT(prune.error, HasSubstr("kept  digits/5: it is not counted: newer than a good version"));
  EXPECT_THAT(Left(), ElementsAre("digits3", "digits4", "digits5", "other1")) << "4 may be a copy that has not ended";
}

TEST_F(RepoRemoval, RemoveRefusesVersionsNamedByServers) {
  const std::string serving =
      Write("serving", "models { model: 'digits' version_policy { specific { versions: 2 } } }");
  const std::string with = absl::StrCat(" --yes --serving-config ", serving);
  Outcome remove = Run(absl::StrCat("remove ", Path("m"), " digits@5", with));
  EXPECT_EQ(remove.exit_code, 0) << remove.error;
  EXPECT_EQ(remove.out, "removed  digits/5\n");
  for (const char* which : {" digits@2", " digits"}) {
    remove = Run(absl::StrCat("remove ", Path("m"), which, with));
    EXPECT_EQ(remove.exit_code, 1);
    EXPECT_THAT(remove.error, HasSubstr("digits/2 is in use, nothing was removed: the version policy names it"));
  }
  EXPECT_THAT(Run(absl::StrCat("remove ", Path("m"), " digits@9", with)).error,
              HasSubstr("digits/9: there is no such"));
  EXPECT_EQ(Run(absl::StrCat("remove ", Path("m"), " nosuch", with)).exit_code, 1);
  EXPECT_EQ(Run(absl::StrCat("remove ", Path("m"), " digits@3 --dry-run")).out, "would be removed  digits/3\n");
  EXPECT_EQ(Left().size(), 5u);
  EXPECT_EQ(Run(absl::StrCat("remove ", Path("m"), " digits --yes")).exit_code, 0);
  EXPECT_THAT(Left(), ElementsAre("other1"));
  CopyFrom(VITRINE_SOURCE "/models/bundled", "digits");
  EXPECT_THAT(Left(), ElementsAre("digits6", "other1")) << "numbers are not given again";
}

// Some users make links to versions or models with `ln -s` instead of copying.
TEST_F(RepoRemoval, LinksAreNamedByListAndVerify) {
  std::filesystem::create_directory_symlink("1", folder_ / "m/other/2");
  std::filesystem::create_directory_symlink("digits", folder_ / "m/alias");
  for (const char* command : {"verify ", "list "}) {
    const Outcome outcome = Run(absl::StrCat(command, Path("m")));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error;
    EXPECT_THAT(outcome.error, AllOf(HasSubstr("other/2 is a symbolic link and is ignored"),
                                     HasSubstr("alias is a symbolic link and is ignored")));
  }
  EXPECT_THAT(Run(absl::StrCat("verify ", Path("m"), " digits")).error, Not(HasSubstr("symbolic link")));
}

TEST_F(RepoRemoval, ListNamesEveryUnreadableManifest) {
  for (const char* version : {"digits/2", "other/1"}) {
    std::ofstream(folder_ / "m" / version / "manifest.textproto") << "nonsense";
  }
  const Outcome outcome = Run("list --format csv " + Path("m"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("digits/2"), HasSubstr("other/1"), HasSubstr("2 of 6 versions cannot be listed")));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("digits,1"), Not(HasSubstr("digits,2"))));
}

// `verify` must fail if it finds no version, because the version folders have wrong names or DIR is not the
// repository's folder.
TEST_F(RepoRemoval, VerifyFailsIfManifestsAreOutsideVersionFolders) {
  const std::filesystem::path models = Path("m");
  EXPECT_EQ(Run("verify " + Path("m")).exit_code, 0);
  for (const std::string& wrong :
       {(models / "digits").string(), (models / "digits" / "1").string(), folder_.string()}) {
    const Outcome verify = Run("verify " + wrong);
    EXPECT_EQ(verify.exit_code, 1) << wrong;
    EXPECT_THAT(verify.error, AllOf(HasSubstr("nothing was verified"), HasSubstr("; name "))) << wrong;
  }
  std::filesystem::create_directories(folder_ / "n" / "digits");
  std::filesystem::copy(models / "digits" / "1", folder_ / "n" / "digits" / "v1");
  const Outcome named = Run("verify " + Path("n"));
  EXPECT_EQ(named.exit_code, 1);
  EXPECT_THAT(named.error, HasSubstr("a manifest.textproto is in \"digits/v1\", but a version is <model>/<number>/"));
  EXPECT_THAT(Run("verify " + Path("n") + " digits").error, HasSubstr("\"digits/v1\""));
  std::filesystem::copy(models / "digits" / "1", folder_ / "n" / "digits" / "1");
  const Outcome partly = Run("verify " + Path("n"));
  EXPECT_EQ(partly.exit_code, 0);
  EXPECT_THAT(partly.error, HasSubstr("\"digits/v1\" has a manifest.textproto, but is ignored"));
}

TEST_F(RepoRemoval, VerifyReportsUnknownManifestFields) {
  std::ofstream(folder_ / "m/other/1/manifest.textproto", std::ios::app) << "signature { by: \"a newer one\" }\n";
  const Outcome verify = Run(absl::StrCat("verify ", Path("m"), " other"));
  EXPECT_EQ(verify.exit_code, 0) << verify.out;
  EXPECT_THAT(verify.error, HasSubstr("no field named \"signature\". It is ignored."));
}

}  // namespace
}  // namespace vitrine
