// SPDX-License-Identifier: Apache-2.0
// Tests vitrine-train as a program.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/repository/stored_version.h"
#include "tests/trainer/train_program.h"
#include "tests/trainer/untrained_version.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using TrainerProgram = TrainProgram;

TEST_F(TrainerProgram, TrainsPublishesOnceAndEvaluates) {
  const std::string repository = folder_.path() / "repository";
  const Outcome run = Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 2 --publish ", repository));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("/small/1"));
  const Outcome measured =
      Trainer(absl::StrCat("evaluate --format csv --resolutions 16,8x16 --repository ", repository,
                           " --model small@1 --data imagefolder:", (folder_.path() / "data").string()));
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  EXPECT_THAT(measured.output, HasSubstr("size,top1,loss,images\n16x16,"));
  EXPECT_THAT(measured.output, HasSubstr("\n8x16,"));
  const Outcome again = Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 2 --resume --publish ", repository));
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("this result is published already: small/1"));
  EXPECT_FALSE(ReadVersion(repository, {"small", 2}).ok());
  const auto version = ReadVersion(repository, {"small", 1});
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->manifest.provenance().recipe(), "small --set epochs=2");
  const std::string printed = Trainer("--version").output;
  const std::string revision = version->manifest.provenance().source_revision();
  EXPECT_EQ(printed.find('(') != std::string::npos, !revision.empty()) << printed;
  EXPECT_THAT(printed, HasSubstr(revision)) << "the revision is that of the program";
}

TEST_F(TrainerProgram, ContradictoryFlagAndSetAreRefused) {
  for (const char* both : {"--epochs 1 --set epochs=0", "--set epochs=0 --epochs 1"}) {
    const Outcome differ = Trainer(absl::StrCat("run ", recipe_, flags_, both));
    EXPECT_EQ(differ.exit_code, 2) << differ.output;
    EXPECT_THAT(differ.output, HasSubstr("--epochs 1 and --set epochs=0 differ; give one of them"));
  }
  const Outcome equal = Trainer(absl::StrCat("run ", recipe_, flags_, "--no-report --epochs 1 --set epochs=1"));
  EXPECT_EQ(equal.exit_code, 0) << equal.output;
}

TEST_F(TrainerProgram, EvaluateReportsMappedLabelsAndBadImages) {
  ASSERT_EQ(Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 1 --no-report --publish ", repository_)).exit_code,
            0);
  const std::string numbered = folder_.path() / "numbered";
  int classes = 0;
  for (const auto& folder : std::filesystem::directory_iterator(data_ + "/test")) {
    std::filesystem::create_directories(numbered + "/test");
    std::filesystem::copy(folder.path(), absl::StrCat(numbered, "/test/", classes++));
  }
  std::filesystem::copy(numbered + "/test", numbered + "/train", std::filesystem::copy_options::recursive);
  const std::string evaluate =
      absl::StrCat("evaluate --repository ", repository_, " --model small --data imagefolder:", numbered);
  const Outcome numbers = Trainer(evaluate);
  EXPECT_EQ(numbers.exit_code, 0) << numbers.output;
  EXPECT_THAT(numbers.output,
              HasSubstr("the data set's labels are numbers; they are used as class numbers of the model"));
  const Outcome nowhere = Trainer(absl::StrCat(evaluate, " --features ", numbered, "/absent/x.safetensors"));
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.output, AllOf(HasSubstr("there is no folder " + numbered + "/absent"), Not(HasSubstr("top-1"))));
  std::ofstream(numbered + "/test/0/bad.png") << "GIF89a";
  const Outcome bad = Trainer(evaluate);
  EXPECT_EQ(bad.exit_code, 1) << bad.output;
  EXPECT_THAT(bad.output, HasSubstr("1 image cannot be decoded; repair or remove them:"));
  EXPECT_THAT(bad.output, Not(HasSubstr("corrupt_limit")));
}

TEST_F(TrainerProgram, EvaluateRefusesAModelWithoutClasses) {
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        preprocessing {
          channels: 3
          mean: [ 0.5, 0.5, 0.5 ]
          std: [ 0.25, 0.25, 0.25 ]
          interpolation: BICUBIC
          fixed { height: 16 width: 16 fit: CENTER_CROP }
        }
        vit { patch: 4 width: 24 depth: 2 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 }
      )pb",
      &config));
  PublishUntrained(repository_, config, {});
  const Outcome refused =
      Trainer(absl::StrCat("evaluate --repository ", repository_, " --model source --data imagefolder:", data_));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("source has no classes to evaluate; make a head for it with `vitrine-repo"));
}

TEST_F(TrainerProgram, ATestSplitWithTrainingImagesIsReported) {
  std::filesystem::remove_all(data_ + "/test");
  std::filesystem::copy(data_ + "/train", data_ + "/test", std::filesystem::copy_options::recursive);
  const Outcome run = Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 1"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("has the same images as the training split: every accuracy"));
  const std::filesystem::path folder = std::filesystem::directory_iterator(data_ + "/test")->path();
  std::filesystem::rename(std::filesystem::directory_iterator(folder)->path(), folder / "renamed.png");
  const Outcome renamed = Trainer(
      absl::StrCat("run ", recipe_, " --data imagefolder:", data_, " --work ", folder_.Path("renamed"), " --epochs 1"));
  EXPECT_THAT(renamed.output, HasSubstr(" test images are also in the training split"));
}

TEST_F(TrainerProgram, AllBadImagesAreListedBeforeTheFirstStep) {
  const std::string flat = data_ + "/train";
  const std::string one_class = std::filesystem::directory_iterator(flat)->path();
  for (const char* name : {"bad1.jpg", "bad2.png"}) std::ofstream(one_class + "/" + name) << "GIF89a";
  std::filesystem::create_symlink("/nowhere/bad3.jpg", one_class + "/bad3.jpg");
  std::ofstream(one_class + "/other.bmp") << "BM";
  for (const char* cache : {"", " --no-cache"}) {
    const std::string command = absl::StrCat("run ", recipe_, " --data imagefolder:", flat,
                                             " --threads 2 --epochs 1 --no-report --work ", work_, cache);
    const Outcome refused = Trainer(command);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.output, HasSubstr("3 images cannot be decoded"));
    EXPECT_THAT(refused.output, HasSubstr("skipped in " + flat + ": 1 .bmp"));
    EXPECT_THAT(refused.output, Not(HasSubstr("left out")));
    for (const char* name : {"bad1.jpg", "bad2.png", "bad3.jpg"}) {
      const size_t named = refused.output.find(name);
      ASSERT_NE(named, std::string::npos) << refused.output;
      EXPECT_EQ(refused.output.find(name, named + 1), std::string::npos) << "once\n" << refused.output;
    }
    const Outcome tolerant = Trainer(command + " --set corrupt_limit=3");
    EXPECT_EQ(tolerant.exit_code, 0) << tolerant.output;
    EXPECT_THAT(tolerant.output, HasSubstr("left out: " + one_class + "/bad1.jpg: "));
    std::filesystem::remove_all(work_);
  }
}

TEST_F(TrainerProgram, AnInvalidUtf8ClassIsRefusedBeforeTheFirstStep) {
  std::filesystem::copy(std::filesystem::directory_iterator(data_ + "/train")->path(), data_ + "/train/caf\xE9",
                        std::filesystem::copy_options::recursive);
  const Outcome run = Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 1"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("\\xe9\" is not UTF-8; rename the class"));
  EXPECT_THAT(run.output, Not(HasSubstr("images to train on")));
}

TEST_F(TrainerProgram, ChangedEpochsOfAResumedRunAreReportedOrRefused) {
  const std::string run = absl::StrCat("run ", recipe_, flags_, "--no-report --epochs ");
  ASSERT_EQ(Trainer(run + "1").exit_code, 0);
  const Outcome longer = Trainer(run + "2 --resume");
  EXPECT_EQ(longer.exit_code, 0) << longer.output;
  EXPECT_THAT(longer.output, HasSubstr("epochs 1 -> 2: the learning rate schedule uses the new end"));
  const Outcome shorter = Trainer(run + "1 --resume");
  EXPECT_EQ(shorter.exit_code, 1) << shorter.output;
  EXPECT_THAT(shorter.output,
              HasSubstr("(epoch 2.00), beyond the requested 1 epochs; continue it with --epochs 2 or more"));
  const Outcome again = Trainer(run + "2 --resume");
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, Not(HasSubstr("->")));
}

TEST_F(TrainerProgram, ADivergedRunPublishesNothing) {
  const std::string run =
      absl::StrCat("run ", recipe_, " --data imagefolder:", data_,
                   " --no-report --set optimizer.kind=SGD --set clip_norm=0 --set bf16=false --publish ", repository_,
                   " --epochs 4 --set optimizer.lr=");
  const Outcome diverged = Trainer(absl::StrCat(run, "99 --work ", work_));
  EXPECT_EQ(diverged.exit_code, 1) << diverged.output;
  EXPECT_THAT(diverged.output, HasSubstr("start again with it in a new folder (--work), without --resume"));
  EXPECT_FALSE(std::filesystem::exists(repository_ + "/small/1"));
}

TEST_F(TrainerProgram, SigtermWritesTheStateAndPrintsTheResumeCommand) {
  const std::string set = R"( --set "optimizer.rate_by_pattern=[{pattern: '*.bias' multiplier: 1}]")";
  RunningTrainer run(absl::StrCat("run ", recipe_, flags_, "--epochs 5000 --revision 'a b'", set));
  // At the end of the first epoch, the training is under way.
  ASSERT_TRUE(run.WaitFor("train acc")) << run.said();
  EXPECT_EQ(run.End(SIGTERM), 128 + SIGTERM) << "a run that was stopped is not done\n" << run.said();
  EXPECT_THAT(run.said(), HasSubstr("continue with:"));
  EXPECT_THAT(run.said(), HasSubstr(" --epochs 5000 "));
  EXPECT_THAT(run.said(), HasSubstr(" --revision 'a b' "));
  EXPECT_THAT(run.said(), HasSubstr(R"(=[{pattern: '\''*.bias'\'' multiplier: 1}]' )")) << "as a shell reads it";
  EXPECT_THAT(run.said(), HasSubstr("--resume"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "work" / "state.safetensors"));
}

TEST_F(TrainerProgram, InvalidCommandsGiveAClearError) {
  const Outcome unknown = Trainer("run no-such-recipe --data mnist:/nowhere --work " + folder_.path().string());
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("kv-pos-mnist"));
  const Outcome no_data = Trainer("run kv-pos-mnist --work " + folder_.path().string());
  EXPECT_EQ(no_data.exit_code, 2);
  EXPECT_THAT(no_data.output, HasSubstr("--data mnist:DIR"));
  const Outcome no_field = Trainer("run kv-pos-mnist --set nonsense=3 --data mnist:/nowhere");
  EXPECT_EQ(no_field.exit_code, 2);
  EXPECT_THAT(no_field.output, HasSubstr("nonsense"));
  EXPECT_EQ(Trainer("print kv-pos-mnist --set batch=many").exit_code, 2);
  const Outcome nowhere = Trainer("run kv-pos-mnist --data mnist:/nowhere --work " + folder_.path().string());
  EXPECT_EQ(nowhere.exit_code, 1) << "the command line is right, the data are not there\n" << nowhere.output;
  EXPECT_EQ(Trainer("run").exit_code, 2);
  for (const char* old : {"augment kv-mnist --output x.png", "evaluate --predictions x.csv", "sweep x --report r"}) {
    const Outcome renamed = Trainer(old);
    EXPECT_EQ(renamed.exit_code, 2) << old;
    EXPECT_THAT(renamed.output, HasSubstr(" is now --out\n")) << old;
  }
  for (const std::string wrong :
       {"run kv-mnist --data x --metrics nowhere", "run kv-mnist --data x --metrics a:99999",
        "run kv-mnist --name 'a b'", "run kv-mnist --data x --start nosuch", "run task-copy --publish x",
        "augment task-copy --data x", "evaluate --repository x --model m@x --data mnist:x",
        "evaluate --repository x --model m --data nosuch",
        "evaluate --repository x --model m --data mnist:x --resolutions x",
        "evaluate --repository x --model m --data mnist:x --resolutions 28,32 --out p.csv"}) {
    EXPECT_EQ(Trainer(wrong).exit_code, 2) << wrong;
  }
  EXPECT_EQ(Trainer("").exit_code, 2);
  EXPECT_EQ(Trainer("list >/dev/full").exit_code, 1);
  EXPECT_EQ(Trainer("run --help").exit_code, 0);
}

TEST_F(TrainerProgram, ListsAndPrintsRecipes) {
  const Outcome list = Trainer("list");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, HasSubstr("eit-mini-cifar10"));
  EXPECT_THAT(list.output, HasSubstr("eit34-mini-cifar10"));
  const Outcome printed = Trainer("print eit-mini-cifar10 --set optimizer.lr=0.5");
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_THAT(printed.output, HasSubstr("lr: 0.5"));
}

}  // namespace
}  // namespace vitrine
