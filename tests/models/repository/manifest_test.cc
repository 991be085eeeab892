// SPDX-License-Identifier: Apache-2.0
#include "models/repository/manifest.h"

#include <gmock/gmock.h>

#include <cmath>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/models/repository/sample_version.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

v1::Manifest SampleManifest() {
  v1::Manifest manifest = SampleDraft(1).manifest;
  manifest.set_model("sample");
  manifest.set_version(1);
  for (const char* name : {kWeightsFile, kGoldenFile, kLabelsFile}) {
    v1::FileDigest& file = *manifest.add_files();
    file.set_name(name);
    file.set_sha256(std::string(64, 'a'));
    file.set_bytes(10);
  }
  v1::Metric& metric = *manifest.mutable_provenance()->add_metrics();
  metric.set_name("top1");
  metric.set_value(0.982);
  manifest.mutable_provenance()->set_data("MNIST, handwritten digits, “NIST”");
  return manifest;
}

TEST(Manifest, IsParsedAsFormatted) {
  const v1::Manifest manifest = SampleManifest();
  ASSERT_TRUE(ValidateManifest(manifest).ok()) << ValidateManifest(manifest);
  const auto read = ParseManifest(FormatManifest(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), manifest.SerializeAsString());
}

TEST(Manifest, AByteOrderMarkIsIgnored) {
  const auto read = ParseManifest("\xEF\xBB\xBF" + FormatManifest(SampleManifest()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), SampleManifest().SerializeAsString());
}

TEST(Manifest, ParseErrorsGiveThePositionAndPrintNothing) {
  testing::internal::CaptureStderr();
  const auto refused = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(ParseManifest(text), Fails(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("model: \"a\"\nversion: x\n", "line 2, column 10");
  refused("version: 1 version: 2", "specified multiple times");
  refused("config {", "line 1");
  refused("version: \"\xff\xc3\xa9\x1b\"", "line 1, column 10: Expected integer, got: \"\\xff\\xc3\\xa9\\x1b\"");
  refused("version: 99999999999999999999", "line 1");
  refused(std::string("\0", 1), "line 1");
  refused(std::string(kMaxManifestBytes + 1, ' '), "longer than");
  refused("model: \"unterminated", "line 1");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "config{";
  refused(deep, "line 1");
  refused(absl::StrReplaceAll(deep, {{"config", "colour"}}), "line 1");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Manifest, UnknownFieldsAreIgnoredAndReported) {
  v1::Manifest manifest = SampleManifest();
  manifest.add_precisions()->set_precision("int8");
  const std::string text = FormatManifest(manifest);
  std::string more = absl::StrReplaceAll(
      text, {{"provenance {",
              "colour: 1\nsignature { key: \"k\" nested { a: 1 } list: [1, 2] }\nprovenance {\n  mood: \"good\""},
             {"precisions {", "precisions {\n  scheme: PER_ROW"},
             {"golden_tolerances {", "golden_tolerances {\n  top1: true"},
             {"files {", "files {\n  blake3: \"x\""}});
  std::vector<std::string> unknown;
  const auto read = ParseManifest(more, &unknown);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(ValidateManifest(*read).ok()) << ValidateManifest(*read);
  EXPECT_EQ(read->SerializeAsString(), manifest.SerializeAsString()) << "what is known is read as ever";
  ASSERT_EQ(unknown.size(), 8u);
  EXPECT_THAT(unknown, testing::Contains(testing::AllOf(HasSubstr("line "), HasSubstr("no field named \"mood\""))));
  EXPECT_TRUE(ParseManifest(more).ok());
}

TEST(Manifest, UnknownFieldsThatChangeResultsAreRefused) {
  v1::Manifest manifest = SampleManifest();
  manifest.mutable_calibration()->set_temperature(1);
  manifest.mutable_calibration()->set_pictures(1);
  const std::string text = FormatManifest(manifest);
  const auto refused = [&](const std::string& place, const std::string& with) {
    const std::string other = absl::StrReplaceAll(text, {{place, with}});
    ASSERT_NE(other, text) << place;
    EXPECT_THAT(ParseManifest(other), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("line "))) << with;
  };
  refused("config {", "config {\n  rotary: true");
  refused("config {", "config { mamba { width: 3 }");
  refused("preprocessing {", "preprocessing {\n  gamma: 2.2");
  refused("interpolation: BILINEAR", "interpolation: LANCZOS");
  refused("calibration {", "calibration {\n  bias: 1");
  EXPECT_THAT(
      ParseManifest(absl::StrReplaceAll(text, {{"config {", "config { rotary: true"}})),
      Fails(absl::StatusCode::kInvalidArgument, testing::AllOf(HasSubstr("\"rotary\""), HasSubstr("a newer one can"))));
}

TEST(Manifest, UnknownPlansAndTolerancesAreIgnored) {
  v1::Manifest manifest = SampleManifest();
  v1::GoldenTolerance& row = *manifest.add_golden_tolerances();
  row.set_device("npu");
  row.set_precision("fp4");
  row.set_tolerance(5);
  manifest.add_precisions()->set_precision("fp4");
  manifest.mutable_precisions(0)->add_kept("");
  EXPECT_TRUE(ValidateManifest(manifest).ok()) << ValidateManifest(manifest);
}

// Old manifests must stay readable. Release 0.1 wrote this manifest, which has every field.
TEST(Manifest, ReadsAndWritesTheFormatOfTheFirstRelease) {
  const std::string text = ReadFile(VITRINE_SOURCE "/tests/models/repository/manifest-0.1.textproto");
  std::vector<std::string> unknown;
  const auto manifest = ParseManifest(text, &unknown);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT(unknown, testing::IsEmpty());
  EXPECT_TRUE(ValidateManifest(*manifest).ok()) << ValidateManifest(*manifest);
  // FormatManifest writes the bytes that ParseManifest has read. Therefore release 0.1, which rejects unknown fields,
  // can read our manifests.
  EXPECT_EQ(FormatManifest(*manifest), text);
}

TEST(Manifest, EveryTruncationIsRefused) {
  const std::string text = FormatManifest(SampleManifest());
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    const auto manifest = ParseManifest(text.substr(0, length));
    EXPECT_FALSE(manifest.ok() && ValidateManifest(*manifest).ok()) << length << " of " << text.size() << " bytes";
  }
}

struct Fault {
  const char* what;
  void (*apply)(v1::Manifest&);
  const char* message;
};

constexpr Fault kFaults[] = {
    {"model name", [](v1::Manifest& m) { m.set_model("../x"); }, "model \"../x\""},
    {"version 0", [](v1::Manifest& m) { m.set_version(0); }, "version 0"},
    {"negative parameters", [](v1::Manifest& m) { m.set_parameters(-1); }, "parameters"},
    {"no config", [](v1::Manifest& m) { m.clear_config(); }, "no model family"},
    {"no preprocessing", [](v1::Manifest& m) { m.mutable_config()->clear_preprocessing(); }, "lacks preprocessing"},
    {"no classes", [](v1::Manifest& m) { m.mutable_config()->set_classes(0); }, "0 classes"},
    {"too many classes", [](v1::Manifest& m) { m.mutable_config()->set_classes(100001); }, "100001 classes"},
    {"file missing", [](v1::Manifest& m) { m.mutable_files()->RemoveLast(); }, "lacks labels.txt"},
    {"file twice", [](v1::Manifest& m) { *m.add_files() = m.files(0); }, "appears twice"},
    {"file with a path", [](v1::Manifest& m) { m.mutable_files(0)->set_name("../../etc/passwd"); }, "plain file name"},
    {"file with a NUL", [](v1::Manifest& m) { m.mutable_files(0)->set_name(std::string("a\0b", 3)); }, "plain file"},
    {"manifest lists itself", [](v1::Manifest& m) { m.mutable_files(0)->set_name(kManifestFile); }, "manifest itself"},
    {"short digest", [](v1::Manifest& m) { m.mutable_files(0)->set_sha256("abc"); }, "64 lower-case"},
    {"upper-case digest", [](v1::Manifest& m) { m.mutable_files(0)->set_sha256(std::string(64, 'A')); }, "64 lower"},
    {"negative size", [](v1::Manifest& m) { m.mutable_files(0)->set_bytes(-1); }, "has -1 bytes"},
    {"immense size", [](v1::Manifest& m) { m.mutable_files(0)->set_bytes(INT64_MAX); }, "are allowed"},
    {"no tolerance", [](v1::Manifest& m) { m.clear_golden_tolerances(); }, "golden_tolerances is empty"},
    {"tolerance 0", [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_tolerance(0); }, "must be above 0"},
    {"tolerance NaN", [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_tolerance(NAN); }, "must be above 0"},
    {"tolerance wide", [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_tolerance(1e9f); }, "at most 0.1"},
    {"unknown device alone", [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_device("cuda:0"); },
     "no row for cpu or cuda"},
    {"unknown precision alone", [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_precision("int4"); },
     "no row for cpu or cuda in fp32, bf16 or int8"},
    {"tolerance twice", [](v1::Manifest& m) { *m.add_golden_tolerances() = m.golden_tolerances(0); }, "cpu fp32 twice"},
    {"plan of fp32", [](v1::Manifest& m) { m.add_precisions()->set_precision("fp32"); }, "\"fp32\", which has no plan"},
    {"plan twice",
     [](v1::Manifest& m) {
       m.add_precisions()->set_precision("int8");
       m.add_precisions()->set_precision("int8");
     },
     "precisions has int8 twice"},
    {"operator twice",
     [](v1::Manifest& m) {
       m.add_precisions()->set_precision("int8");
       m.mutable_precisions(0)->add_kept("head");
       m.mutable_precisions(0)->add_kept("head");
     },
     "keeps \"head\" from int8 twice"},
    {"metric of a plan",
     [](v1::Manifest& m) {
       m.add_precisions()->set_precision("int8");
       m.mutable_precisions(0)->add_metrics()->set_name("");
     },
     "precisions has a metric"},
    {"calibration without temperature", [](v1::Manifest& m) { m.mutable_calibration()->set_pictures(1); },
     "has temperature 0; 0.05 to 20"},
    {"calibration that is no number",
     [](v1::Manifest& m) {
       m.mutable_calibration()->set_pictures(1);
       m.mutable_calibration()->set_temperature(NAN);
     },
     "has temperature nan"},
    {"threshold that is no share",
     [](v1::Manifest& m) {
       m.mutable_calibration()->set_pictures(1);
       m.mutable_calibration()->set_temperature(1);
       m.mutable_calibration()->set_unsure_below(1.5);
     },
     "unsure_below"},
    {"calibration of nothing", [](v1::Manifest& m) { m.mutable_calibration()->set_temperature(1); },
     "has no number of images"},
    {"metric", [](v1::Manifest& m) { m.mutable_provenance()->mutable_metrics(0)->set_value(NAN); }, "metric \"top1\""},
    {"epochs", [](v1::Manifest& m) { m.mutable_provenance()->set_epochs(INFINITY); }, "epochs"},
    {"tolerance a bit wide",
     [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_tolerance(std::nextafter(0.1f, 1.0f)); }, "at most 0.1"},
    {"digest of other letters", [](v1::Manifest& m) { m.mutable_files(0)->set_sha256(std::string(64, 'g')); },
     "64 lower-case"},
    {"long digest", [](v1::Manifest& m) { m.mutable_files(0)->set_sha256(std::string(65, 'a')); }, "64 lower-case"},
    {"file a byte too large", [](v1::Manifest& m) { m.mutable_files(0)->set_bytes(kMaxFileBytes + 1); },
     "has 4294967297 bytes; 0 to 4294967296 are allowed"},
    {"other file a byte too large",
     [](v1::Manifest& m) {
       *m.add_files() = m.files(0);
       m.mutable_files(3)->set_name("card.md");
       m.mutable_files(3)->set_bytes(kMaxExtraFileBytes + 1);
     },
     "has 16777217 bytes; 0 to 16777216 are allowed"},
    {"metric without a name", [](v1::Manifest& m) { m.mutable_provenance()->mutable_metrics(0)->set_name(""); },
     "provenance has a metric \"\""},
    {"metric of fewer than no images",
     [](v1::Manifest& m) { m.mutable_provenance()->mutable_metrics(0)->set_images(-1); }, "metric \"top1\""},
    {"seconds", [](v1::Manifest& m) { m.mutable_provenance()->set_train_seconds(NAN); }, "train_seconds"},
    {"licence of 201 bytes", [](v1::Manifest& m) { m.mutable_provenance()->set_licence(std::string(201, 'x')); },
     "provenance has a licence that has 201 bytes; at most 200 are allowed"},
    {"licence of two lines", [](v1::Manifest& m) { m.mutable_provenance()->set_licence("MIT\nor GPL"); },
     "provenance has a licence that has control characters"},
    {"operator without a name",
     [](v1::Manifest& m) {
       m.add_precisions()->set_precision("int8");
       m.mutable_precisions(0)->add_kept("");
     },
     "keeps \"\" from int8"},
    {"malformed UTF-8 in a list",
     [](v1::Manifest& m) {
       m.add_precisions()->set_precision("int8");
       m.mutable_precisions(0)->add_kept("head");
       m.mutable_precisions(0)->add_kept("\xff");
     },
     "kept is not UTF-8: \"\\xff\""},
    {"malformed UTF-8", [](v1::Manifest& m) { m.mutable_provenance()->set_recipe("\xff"); }, "recipe is not UTF-8"},
};

TEST(Manifest, RefusesEveryFaultByName) {
  for (const Fault& fault : kFaults) {
    v1::Manifest manifest = SampleManifest();
    fault.apply(manifest);
    EXPECT_THAT(ValidateManifest(manifest), Refuses(absl::StatusCode::kInvalidArgument, HasSubstr(fault.message)))
        << fault.what;
  }
}

TEST(Manifest, TheLimitsOfEveryRangeAreAccepted) {
  constexpr void (*kChanges[])(v1::Manifest&) = {
      [](v1::Manifest& m) { m.set_version(1), m.set_parameters(0); },
      [](v1::Manifest& m) { m.mutable_config()->set_classes(1); },
      [](v1::Manifest& m) { m.mutable_config()->set_classes(100000); },
      [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_tolerance(0.1f); },
      [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_tolerance(1e-9f); },
      [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_device("cuda"); },
      [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_precision("bf16"); },
      [](v1::Manifest& m) { m.mutable_golden_tolerances(0)->set_precision("int8"); },
      [](v1::Manifest& m) {
        m.mutable_files(0)->set_sha256("0123456789abcdef0123456789abcdef" + std::string(32, '9'));
      },
      [](v1::Manifest& m) {
        for (v1::FileDigest& file : *m.mutable_files()) file.set_bytes(kMaxFileBytes);
      },
      [](v1::Manifest& m) {
        for (v1::FileDigest& file : *m.mutable_files()) file.set_bytes(0);
      },
      [](v1::Manifest& m) {
        *m.add_files() = m.files(0);
        m.mutable_files(3)->set_name("card.md");
        m.mutable_files(3)->set_bytes(kMaxExtraFileBytes);
      },
      [](v1::Manifest& m) { m.mutable_provenance()->set_licence(std::string(200, 'x')); },
      [](v1::Manifest& m) {
        m.add_precisions()->set_precision("int8");
        m.add_precisions()->set_precision("bf16");
        for (const char* name : {"head", "stem"}) m.mutable_precisions(1)->add_kept(name);
      }};
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    v1::Manifest manifest = SampleManifest();
    kChanges[i](manifest);
    EXPECT_TRUE(ValidateManifest(manifest).ok()) << i << ": " << ValidateManifest(manifest);
  }
  EXPECT_TRUE(ParseManifest(std::string(kMaxManifestBytes, ' ')).ok());
}

TEST(Manifest, PlansAreFoundByName) {
  v1::Manifest manifest = SampleManifest();
  manifest.add_precisions()->set_precision("int8");
  manifest.add_precisions()->set_precision("bf16");
  for (const v1::PrecisionPlan& plan : manifest.precisions()) {
    EXPECT_EQ(FindPrecision(manifest, plan.precision()), &plan);
  }
  EXPECT_EQ(FindPrecision(manifest, "fp32"), nullptr);
}

TEST(Manifest, TooManyFilesAreRefused) {
  v1::Manifest manifest = SampleManifest();
  for (int i = 0; i < 62; ++i) {
    EXPECT_TRUE(ValidateManifest(manifest).ok()) << manifest.files_size() << " are not too many";
    *manifest.add_files() = manifest.files(0);
    manifest.mutable_files()->rbegin()->set_name(absl::StrCat("extra", i));
  }
  EXPECT_THAT(ValidateManifest(manifest), Refuses(absl::StatusCode::kInvalidArgument, HasSubstr("more than 64")));
}

}  // namespace
}  // namespace vitrine
