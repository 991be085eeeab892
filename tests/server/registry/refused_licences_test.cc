// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/refused_licences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine {
namespace {

using ::testing::HasSubstr;

v1::Manifest Licensed(const std::string& licence) {
  v1::Manifest manifest;
  manifest.set_model("m");
  manifest.set_version(3);
  manifest.mutable_provenance()->set_licence(licence);
  return manifest;
}

TEST(RefusedLicences, PatternsMatchLicencesInAnySpelling) {
  const struct {
    const char *pattern, *licence;
    bool refused;
  } kCases[] = {{"cc-by-nc*", "CC-BY-NC-4.0", true},
                {"CC-BY-NC*", "cc-by-nc-sa-3.0", true},
                {"cc-by-nc*", "CC BY-NC 4.0", true},
                {"cc by-nc*", "cc_by_nc_4.0", true},
                {"cc-by-nc*", "(MIT AND CC-BY-NC-4.0)", true},
                {"cc-by-nc*", "mit OR cc-by-nc-4.0", true},
                {"cc-by-nc*", "Apache-2.0 and CC BY-NC 4.0", true},
                {"cc-by-nc*", "[cc-by-nc-4.0, mit]", true},
                {"nc*", "MIT AND CC-BY-NC-4.0", false},
                {"cc-by-nc*", "CC-BY-4.0", false},
                {"cc-by-nc", "CC-BY-NC-4.0", false},
                {"*nc*", "CC-BY-NC-4.0", true},
                {"mit", "MIT", true},
                {"mit", "X11-MIT", false},
                {"*", "MIT", true},
                {"*", "", true},
                {"none", "", true},
                {"Unknown", "", true},
                {"none", "unknown", true},
                {"unknown", "NOASSERTION", true},
                {"none", "MIT", false},
                {"cc-by-nc*", "", false},
                {"cc-by-nc*", "unknown", false}};
  for (const auto& [pattern, licence, refused] : kCases) {
    EXPECT_EQ(CheckLicence(Licensed(licence), {"no such one", pattern}).ok(), !refused) << pattern << " | " << licence;
    EXPECT_TRUE(CheckLicence(Licensed(licence), {}).ok());
  }
}

TEST(RefusedLicences, TheErrorNamesLicenceAndFlag) {
  const absl::Status refused = CheckLicence(Licensed("CC-BY-NC-4.0"), {"gpl*", "cc-by-nc*"});
  EXPECT_EQ(refused, absl::FailedPreconditionError("m/3: its licence is CC-BY-NC-4.0, which this server rejects by "
                                                   "--refuse-licence cc-by-nc*"));
  EXPECT_THAT(std::string(CheckLicence(Licensed(""), {"none"}).message()),
              HasSubstr("m/3: it states no licence, which this server rejects by --refuse-licence none"));
}

// Tests a version that an older release published. Its manifest states the licence only in provenance.origin, which
// describes the download of the weights.
TEST(RefusedLicences, TheLicenceOfADownloadCounts) {
  v1::Manifest manifest = Licensed("");
  manifest.mutable_provenance()->mutable_origin()->set_licence("cc-by-nc-4.0");
  EXPECT_FALSE(CheckLicence(manifest, {"cc-by-nc*"}).ok());
  EXPECT_TRUE(CheckLicence(manifest, {"none"}).ok());
  manifest.mutable_provenance()->set_licence("MIT");
  EXPECT_TRUE(CheckLicence(manifest, {"cc-by-nc*"}).ok()) << "the licence of the version has precedence";
}

}  // namespace
}  // namespace vitrine
