// SPDX-License-Identifier: Apache-2.0
// Tests the commands zoo, describe, init, create, list and verify of vitrine-repo. The command import has its own test.
#include "tests/models/tool/repo_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "models/repository/stored_version.h"
#include "models/zoo.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RepoProgram, ZooAsCsvListsEveryVariant) {
  const Outcome zoo = Run("zoo --format=csv");
  ASSERT_EQ(zoo.exit_code, 0) << zoo.error;
  EXPECT_EQ(zoo.error, "");
  std::vector<std::string> lines = absl::StrSplit(zoo.out, '\n', absl::SkipEmpty());
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(lines[0].starts_with("name,parameters,macs,")) << lines[0];
  std::map<std::string, std::pair<int64_t, int64_t>> counts;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    ASSERT_GT(cells.size(), 3u);
    counts[cells[0]] = {std::stoll(cells[1]), std::stoll(cells[2])};
  }
  EXPECT_EQ(counts.size(), Zoo().size());
  for (const ZooRow& row : Zoo()) EXPECT_EQ(counts.at(std::string(row.name)).first, row.parameters) << row.name;
  // The expected multiply-adds follow from the sizes of ViT-B/16: the patches, twelve blocks, and the head.
  EXPECT_EQ(counts.at("vit-b16").second, 17'563'828'224);
  EXPECT_EQ(counts.at("vit-b16").second,
            196 * 768 * 768 + 12 * (197 * 12 * int64_t{768} * 768 + 2 * 197 * 197 * 768) + 768 * 1000);
}

TEST_F(RepoProgram, ZooListsPublishedFiguresBesideOurs) {
  const Outcome zoo = Run(absl::StrCat("zoo --format json --repository ", VITRINE_SOURCE, "/models/bundled"));
  ASSERT_EQ(zoo.exit_code, 0) << zoo.error;
  std::map<std::string, json> rows;
  for (const json& row : json::parse(zoo.out)) rows[row.at("name")] = row;
  const json& eit = rows.at("eit33-base-cifar10");
  EXPECT_EQ(eit.at("published_flops"), 4.056e9);
  // The published counts are decimal fractions, such as 4.108 million. The JSON must still have integers.
  for (const auto& [name, row] : rows) {
    for (const char* count : {"published_parameters", "published_flops"}) {
      EXPECT_TRUE(row.at(count).is_null() || row.at(count).is_number_integer()) << name << " " << row.at(count);
    }
  }
  EXPECT_EQ(rows.at("vit-c-mini-cifar10").at("published_parameters"), 4'108'000);
  EXPECT_EQ(rows.at("vit-ti16").at("published_parameters"), 5'700'000);
  EXPECT_NEAR(eit.at("flops").get<double>() / 1e9, 4.05620, 5e-6);
  EXPECT_EQ(eit.at("tokens"), 101);
  EXPECT_THAT(eit.at("remark").get<std::string>(), HasSubstr("19.55"));
  const json& bundled = rows.at("eit34-mini-cifar10");
  EXPECT_EQ(bundled.at("published_accuracy"), 85.5);
  EXPECT_GT(bundled.at("measured_accuracy").get<double>(), 50);
  EXPECT_THAT(bundled.at("measured_on").get<std::string>(), HasSubstr("eit-mini-cifar10/2"));
  EXPECT_TRUE(rows.at("null").at("published_flops").is_null());
}

TEST_F(RepoProgram, DescribedOperatorsAddUp) {
  // Tests only a few models of each family, because each run of the program takes a fifth of a second.
  std::map<int, int> seen;
  for (const ZooRow& row : Zoo()) {
    if (row.config.has_null() || seen[row.config.family_case()]++ % 11 != 3) continue;
    const Outcome described = Run(absl::StrCat("describe ", std::string(row.name), " --no-measure --format json"));
    ASSERT_EQ(described.exit_code, 0) << row.name << ": " << described.error;
    const json description = json::parse(described.out);
    EXPECT_EQ(description.at("parameters"), row.parameters) << row.name;
    int64_t parameters = 0, macs = 0;
    for (const json& op : description.at("operators")) {
      parameters += op.at("count").get<int64_t>() * op.at("parameters").get<int64_t>();
      macs += op.at("count").get<int64_t>() * op.at("macs").get<int64_t>();
    }
    EXPECT_EQ(macs, description.at("executed_macs").get<int64_t>()) << row.name;
    EXPECT_LE(macs, description.at("macs").get<int64_t>() + 1'000'000) << row.name;
    EXPECT_EQ(parameters, row.parameters) << row.name;
  }
}

TEST_F(RepoProgram, DescribeMeasuresEveryFusedStepAndDrawsThem) {
  const Outcome described =
      Run(absl::StrCat("describe kv-mnist-p7-d64-l2 --batch 4 --format json --out ", Path("drawings")));
  ASSERT_EQ(described.exit_code, 0) << described.error;
  const json description = json::parse(described.out);
  EXPECT_GT(description.at("machine").at("gflops").get<double>(), 0);
  EXPECT_GT(description.at("machine").at("cache_gigabytes_per_second").get<double>(), 0);
  EXPECT_GT(description.at("machine").at("memory_gigabytes_per_second").get<double>(), 0);
  EXPECT_GT(description.at("forward_seconds").get<double>(), 0);
  double sum = 0;
  std::set<std::string> names;
  for (const json& step : description.at("steps")) {
    EXPECT_GT(step.at("seconds").get<double>(), 0) << step;
    EXPECT_GT(step.at("bound_seconds").get<double>(), 0) << step;
    EXPECT_GT(step.at("bytes").get<int64_t>(), 0) << step;
    EXPECT_LE(step.at("gflops").get<double>(), 1.05 * description.at("machine").at("gflops").get<double>())
        << "above the roof: " << step;
    sum += step.at("count").get<double>() * step.at("seconds").get<double>();
    names.insert(step.at("name").get<std::string>());
  }
  // GELU and the residual sum are no steps of their own: they are part of the step of a linear layer.
  EXPECT_THAT(names, AllOf(Contains(HasSubstr("feed_forward.fc1")), Not(Contains(HasSubstr("gelu")))));
  EXPECT_NEAR(sum, description.at("sum_seconds").get<double>(), 1e-9);
  // If the sum of the steps' times contradicts the time of the forward pass, every output must say so.
  const bool busy = sum > 2 * description.at("forward_seconds").get<double>();
  EXPECT_EQ(description.at("busy_machine"), busy);
  EXPECT_EQ(described.error.find("measured on a busy machine") != std::string::npos, busy) << described.error;
  const std::string svg = ReadFile(Path("drawings/roofline.svg"));
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("kv-mnist-p7-d64-l2"), HasSubstr("GFLOP/s"),
                         HasSubstr("feed_forward.fc1"), HasSubstr("</svg>")));
  EXPECT_EQ(svg.find("measured on a busy machine") != std::string::npos, busy);
  EXPECT_GE(description.at("rounds"), 3);
  const bool steady = description.at("steady"), loaded = description.at("other_load").get<double>() >= 0.5;
  EXPECT_THAT(svg, HasSubstr(absl::StrCat(steady ? ">steady" : ">NOT STEADY", " after ",
                                          description.at("rounds").get<int>(), " rounds")));
  EXPECT_EQ(svg.find("; load average ") != std::string::npos, loaded);
  EXPECT_EQ(described.error.find("these times are unreliable") != std::string::npos, busy || loaded || !steady);
}

TEST_F(RepoProgram, DescribePrintsTheReviewsTablesForVit) {
  const Outcome text = Run("describe vit-b16 --no-measure");
  ASSERT_EQ(text.exit_code, 0) << text.error;
  EXPECT_THAT(text.out, AllOf(HasSubstr("blocks.*.attention.qkv"), HasSubstr("[197, 768] x [768, 2304]"),
                              HasSubstr("231,211,008"), HasSubstr("34,766,730,240"), HasSubstr("35,182,690,368"),
                              HasSubstr("48Nbd")));
  const Outcome csv = Run("describe vit-b16 --paper --format csv");
  EXPECT_EQ(csv.error, "") << "nothing is measured";
  EXPECT_THAT(csv.out, HasSubstr("\n3,scaling,"));
  // In this row, the operations are 6Nbd and the bytes are 8Nbd, in the printed and in the corrected table. The CSV
  // must have both formulas' values as integers.
  EXPECT_THAT(csv.out, HasSubstr("\n3,LN,903168,6Nbd,903168,1204224,8Nbd,1204224,"));
  const Outcome refused = Run("describe xcit-n12 --no-measure --paper");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("not a ViT"));
}

TEST_F(RepoProgram, DescribeAcceptsTheInputsOfTheModel) {
  const Outcome wide = Run("describe xcit-n12 --resolution 224x320 --batch 3 --no-measure --format json");
  ASSERT_EQ(wide.exit_code, 0) << wide.error;
  EXPECT_EQ(json::parse(wide.out).at("tokens"), 14 * 20 + 1);
  EXPECT_EQ(json::parse(wide.out).at("input").at("images"), 3);
  const Outcome large = Run("describe xcit-n12 --resolution 1024 --no-measure --format json");
  ASSERT_EQ(large.exit_code, 0) << large.error;
  EXPECT_EQ(json::parse(large.out).at("tokens"), 64 * 64 + 1) << "more than requests may have";
  const Outcome fixed = Run("describe vit-b16 --resolution 384 --no-measure");
  EXPECT_EQ(fixed.exit_code, 1);
  EXPECT_THAT(fixed.error, AllOf(HasSubstr("384x384"), HasSubstr("224x224 only")));
  for (const char* pixels : {"12px", "abc", "0", "224x0", "8193"}) {
    const Outcome refused = Run(absl::StrCat("describe xcit-n12 --no-measure --resolution ", pixels));
    EXPECT_EQ(refused.exit_code, 2) << pixels;
    EXPECT_THAT(refused.error, AllOf(HasSubstr("--resolution"), HasSubstr("1 to 8192"))) << pixels;
  }
  const Outcome unknown = Run("describe vit-b61 --no-measure");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("vit-b16"));
  EXPECT_THAT(Run("describe task-kv-d64-l2 --no-measure").error,
              HasSubstr("`vitrine-train list` also lists sequence models"));
}

TEST_F(RepoProgram, ScalingMeasuresTimeAndMemoryOfAnySize) {
  int64_t peaks[2] = {};
  for (const bool reference : {false, true}) {
    const Outcome run = Run(absl::StrCat("scaling vit-ti16-native --resolutions 224x112,544 --repeats 2 --format json",
                                         reference ? " --reference" : ""));
    ASSERT_EQ(run.exit_code, 0) << run.error;
    const json scaling = json::parse(run.out);
    ASSERT_EQ(scaling.at("measured").size(), 4u);
    for (const json& row : scaling.at("measured")) {
      EXPECT_GT(row.at("seconds").get<double>(), 0) << row;
      EXPECT_GT(row.at("peak_bytes").get<int64_t>(), 0) << row;
    }
    EXPECT_EQ(scaling.at("measured")[0].at("tokens"), 14 * 7);
    EXPECT_EQ(scaling.at("measured")[3].at("tokens"), 34 * 34) << "more than requests may have";
    EXPECT_EQ(scaling.at("measured")[3].at("seed"), 2);
    EXPECT_GT(scaling.at("powers").at("peak_bytes").get<double>(), 0) << scaling;
    peaks[reference] = scaling.at("measured")[3].at("peak_bytes");
  }
  constexpr int64_t kMatrix = int64_t{3} * (34 * 34 + 1) * (34 * 34 + 1) * 4;  // the attention of three heads
  EXPECT_GT(peaks[1], kMatrix) << "the reference stores it";
  EXPECT_LT(peaks[0], kMatrix) << "the engine does not";
  EXPECT_THAT(Run("scaling vit-b16 --resolutions 384").error, HasSubstr("224x224 only"));
  EXPECT_EQ(Run("scaling vit-ti16-native --resolutions 224,0").exit_code, 2);
}

TEST_F(RepoProgram, InitMakesAnEmptyRepositoryOnce) {
  const Outcome made = Run("init " + Path("fresh"));
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_TRUE(std::filesystem::exists(Path("fresh") + "/README.md"));
  EXPECT_EQ(Run("list --format json " + Path("fresh")).out, "[]\n");
  for (const char* command : {"list ", "list --format json ", "verify "}) {
    const Outcome shown = Run(command + Path("fresh"));
    EXPECT_EQ(shown.exit_code, 1) << command << ": there is nothing to show";
    EXPECT_THAT(shown.error, HasSubstr("holds no <model>/<version>/")) << command;
  }
  const Outcome again = Run("init " + Path("fresh"));
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.error, HasSubstr("other files"));
}

TEST_F(RepoProgram, CreatedVersionsAreValidAndMarkedAsRandom) {
  const std::string repository = Path("created");
  const Outcome first = Run("create " + repository + " small --variant kv-pos-mnist-p7-d64-l2 --seed 3");
  ASSERT_EQ(first.exit_code, 0) << first.error;
  EXPECT_THAT(first.out, AllOf(HasSubstr("small/1"), HasSubstr("51,120"), HasSubstr("untrained")));
  const Outcome second =
      Run("create " + repository + " small --variant eit34-mini-cifar10 --storage bf16 --licence CC0-1.0");
  ASSERT_EQ(second.exit_code, 0) << second.error;
  const Outcome verified = Run("verify " + repository);
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.error;
  const auto version = ReadVersion(repository, {"small", 2});
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->labels.front(), "class_0");
  EXPECT_EQ(version->labels.size(), 10u);
  EXPECT_THAT(version->manifest.provenance().recipe(), HasSubstr("random"));
  EXPECT_EQ(version->weights.tensors.begin()->second.dtype, Dtype::kBF16);
  EXPECT_EQ(version->manifest.goldens_by(), "reference");
  EXPECT_EQ(version->manifest.provenance().licence(), "CC0-1.0");
  EXPECT_THAT(Run("show " + repository + " small@2").out, HasSubstr("CC0-1.0"));
  EXPECT_THAT(Run("show " + repository + " small@1").out, AllOf(HasSubstr("not stated"), Not(HasSubstr("epochs"))));

  const Outcome third = Run("create " + repository + " small --variant null --if-absent");
  EXPECT_EQ(third.exit_code, 0) << third.error;
  EXPECT_THAT(third.out, HasSubstr("already"));
  EXPECT_FALSE(std::filesystem::exists(repository + "/small/3"));
  EXPECT_EQ(Run("create " + repository + " other --variant null --if-absent").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(repository + "/other/1"));

  const Outcome csv = Run("list --format csv " + repository);
  EXPECT_TRUE(csv.out.starts_with("model,version,parameters,bytes,")) << csv.out;
  EXPECT_EQ(Run("init " + repository).exit_code, 1);
  const Outcome described = Run("describe small@1 --no-measure --format csv --repository " + repository);
  EXPECT_EQ(described.exit_code, 0) << described.error;
  EXPECT_THAT(described.out, HasSubstr("\nblocks.*.attention.projection,LINEAR,2,"));
}

TEST_F(RepoProgram, CreateRefusesInvalidArguments) {
  EXPECT_THAT(Run("create " + Path("r") + " x --variant vit-b61").error, HasSubstr("vit-b16"));
  EXPECT_THAT(Run("create " + Path("r") + " x --variant task-kv-d64-l2").error,
              HasSubstr("`vitrine-train list` also lists sequence models"));
  EXPECT_THAT(Run("create " + Path("r") + " a/b --variant null").error, HasSubstr("a/b"));
  EXPECT_FALSE(std::filesystem::exists(Path("r")));
  EXPECT_EQ(Run("create " + Path("r") + " x --variant null --storage fp64").exit_code, 2);
  const Outcome long_licence = Run("create " + Path("r") + " x --variant null --licence " + std::string(201, 'x'));
  EXPECT_EQ(long_licence.exit_code, 2);
  EXPECT_THAT(long_licence.error, AllOf(HasSubstr("--licence"), HasSubstr("at most 200")));
}

TEST_F(RepoProgram, HelpHasExamplesAndUsageErrorsExitWithTwo) {
  for (const char* command :
       {"zoo", "describe", "scaling", "init", "create", "import", "export", "list", "show", "verify", "publish"}) {
    const Outcome help = Run(absl::StrCat(command, " --help"));
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Usage")) << command;
  }
  EXPECT_THAT(Run("--help").out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:")));
  EXPECT_EQ(Run("").exit_code, 2);
  EXPECT_EQ(Run("zoo --format xml").exit_code, 2);
  EXPECT_EQ(Run("describe vit-b16 --batch 0").exit_code, 2);
  for (const auto& [words, now] : std::vector<std::pair<std::string, std::string>>{
           {"describe vit-b16 --plot x.svg", "--plot is now --out DIR, with roofline.svg in it"},
           {"describe vit-b16 --graph x.svg", "--graph is now --out DIR, with program.svg in it"},
           {"quantize models x --images 5", "--images is now --limit"},
           {"verify models x --against timm --pictures photos", "--pictures is now --images"}}) {
    const Outcome refused = Run(words);
    EXPECT_EQ(refused.exit_code, 2) << words;
    EXPECT_THAT(refused.error, HasSubstr("vitrine-repo: " + now + "\n"));
  }
}

}  // namespace
}  // namespace vitrine
