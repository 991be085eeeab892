// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/stated_licence.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(StatedLicence, IsReadFromAModelCard) {
  const struct {
    const char *yaml, *licence;
  } kCards[] = {{"license: apache-2.0", "apache-2.0"},
                {"tags:\n- timm\nlicense:   'cc-by-nc-4.0'  \r", "cc-by-nc-4.0"},
                {"license: \"mit\"\ntags: x", "mit"},
                {"license: other\nlicense_name: fair-noncommercial", "fair-noncommercial"},
                {"license_name: fair-noncommercial\nlicense: other", "fair-noncommercial"},
                {"license: mit\nlicense_name: not this", "mit"},
                {"license: other\nlicense_link: LICENSE", "other"},
                {"license:\n- mit\n  - gpl-3.0\ntags:\n- timm", "mit OR gpl-3.0"},
                {"license: [mit, 'gpl-3.0']", "mit OR gpl-3.0"},
                {"license: a\x1b[2J", "a\\x1b[2J"},
                {"license: l'œuvre de l'INRIA", "l'œuvre de l'INRIA"},
                {"license:", ""},
                {"licenses: mit", ""},
                {"tags: x", ""}};
  for (const auto& [yaml, licence] : kCards) {
    EXPECT_EQ(LicenceOfCard(std::string("---\n") + yaml + "\n---\nlicense: of the text\n"), licence) << yaml;
  }
  EXPECT_EQ(LicenceOfCard("license: mit\n"), "") << "without YAML";
  EXPECT_EQ(LicenceOfCard(""), "");
  EXPECT_EQ(LicenceOfCard("---\nlicense: " + std::string(300, '\1')).size(), 100u);
  const std::string longest(99, 'x');
  EXPECT_EQ(LicenceOfCard("---\nlicense: " + longest + "é"), longest) << "no half character";
  EXPECT_EQ(LicenceOfCard("---\nlicense: [" + longest + "," + longest.substr(3) + "é]"),
            longest + " OR " + longest.substr(3))
      << "no half character";
}

TEST(StatedLicence, IsReadFromAConfig) {
  EXPECT_EQ(LicenceOfConfig(R"({"license": "mit", "pretrained_cfg": {"license": "gpl"}})"), "mit");
  EXPECT_EQ(LicenceOfConfig(R"({"architecture": "x", "pretrained_cfg": {"license": "cc-by-nc-4.0"}})"), "cc-by-nc-4.0");
  for (const char* without : {"", "{", "[]", "{}", R"({"license": 3})", R"({"license": null, "pretrained_cfg": 1})"}) {
    EXPECT_EQ(LicenceOfConfig(without), "") << without;
  }
}

TEST(StatedLicence, IsReadFromMetadata) {
  EXPECT_EQ(LicenceOfMetadata({{"format", "pt"}, {"license", "mit"}}), "mit");
  EXPECT_EQ(LicenceOfMetadata({{"modelspec.license", "openrail"}}), "openrail");
  EXPECT_EQ(LicenceOfMetadata({{"format", "pt"}}), "");
}

}  // namespace
}  // namespace vitrine
