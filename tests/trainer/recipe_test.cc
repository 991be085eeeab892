// SPDX-License-Identifier: Apache-2.0
#include "trainer/recipe/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "models/reference/model.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/lab/tasks/sequence_task.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(BundledRecipes, AreValidAndTheirModelsCanBeMade) {
  ASSERT_FALSE(BundledRecipes().empty());
  for (const BundledRecipe& bundled : BundledRecipes()) {
    SCOPED_TRACE(std::string(bundled.name));
    auto recipe = FindRecipe(std::string(bundled.name));
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    EXPECT_EQ(recipe->name(), bundled.name);
    // The user must name the version to start from and the teacher.
    if (recipe->has_start()) recipe->mutable_start()->set_version("repository/model");
    if (recipe->has_distillation()) recipe->mutable_distillation()->set_teacher("repository/model");
    EXPECT_TRUE(ValidateRecipe(*recipe).ok()) << ValidateRecipe(*recipe);
    EXPECT_FALSE(recipe->description().empty()) << "the list of recipes shows it";
    EXPECT_THAT(recipe->description(), Not(HasSubstr("scratch"))) << "a run may start from a version";
    // Recipes that take their model from a version are for the user's own data.
    const bool is_own = !recipe->has_sequence() && recipe->model().empty();
    EXPECT_EQ(recipe->data().name().empty(), is_own) << "the model card must say what the data is";
    EXPECT_TRUE(recipe->data().hint().empty() || !recipe->data().origin().empty()) << "where do the data come from?";
    if (recipe->has_sequence()) {
      EXPECT_TRUE(SequenceConfigOf(*recipe).ok());
      continue;
    }
    if (is_own) continue;
    const auto config = ConfigOf(*recipe);
    ASSERT_TRUE(config.ok()) << config.status();
    const auto model = MakeModel(*config, 0, at::kMeta);
    ASSERT_TRUE(model.ok()) << model.status();
    for (const v1::TrainingSize& size : recipe->sizes()) {
      EXPECT_TRUE((*model)->GridFor(size.height(), size.width()).ok()) << size.DebugString();
    }
    for (const std::string& text : recipe->evaluation_sizes()) {
      const auto size = ParseSize(text);
      ASSERT_TRUE(size.ok());
      EXPECT_TRUE((*model)->GridFor(size->height, size->width).ok()) << text;
    }
  }
}

TEST(FindRecipe, ReadsFilesAndLocatesErrors) {
  ScratchFolder folder;
  const std::string file = folder.path() / "mine.textproto";
  std::ofstream(file) << PrintRecipe(SmallRecipe());
  const auto recipe = FindRecipe(file);
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(PrintRecipe(*recipe), PrintRecipe(SmallRecipe()));

  std::ofstream(file) << "\xEF\xBB\xBF" << PrintRecipe(SmallRecipe());
  EXPECT_TRUE(FindRecipe(file).ok()) << FindRecipe(file).status() << ": a byte order mark";

  std::ofstream(file) << "name: \"x\"\nbatsh: 3\n";
  EXPECT_THAT(Message(FindRecipe(file).status()), HasSubstr("line 2"));
  EXPECT_THAT(Message(FindRecipe("no-such").status()), HasSubstr("kv-pos-mnist"));
  EXPECT_EQ(FindRecipe("/no/such.textproto").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindRecipe(folder.path()).status().code(), absl::StatusCode::kNotFound) << "a folder is no file";
  std::ofstream(file).flush();
  const auto empty = FindRecipe(file);
  ASSERT_TRUE(empty.ok()) << empty.status() << ": an empty file was read all the same";
  EXPECT_THAT(Message(ValidateRecipe(*empty)), HasSubstr("name is empty"));
}

TEST(FindRecipe, CompletesARecipeFromItsBase) {
  ScratchFolder folder;
  const std::string base = folder.path() / "base.textproto", file = folder.path() / "mine.textproto";
  std::ofstream(base) << R"(name: "base" model: "m" bf16: true epochs: 4 optimizer { kind: SGD lr: 1 }
                            sizes { height: 8 width: 8 weight: 1 } data { name: "d" digests: "1" })";
  std::ofstream(file) << "name: \"mine\" base: \"" << base << R"(" bf16: false optimizer { lr: 2 }
                            sizes { height: 9 width: 9 weight: 1 } data { digests: "2" })";
  const auto recipe = FindRecipe(file);
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->name(), "mine");
  EXPECT_EQ(recipe->base(), "");
  EXPECT_EQ(recipe->model(), "m");
  EXPECT_DOUBLE_EQ(recipe->epochs(), 4);
  EXPECT_FALSE(recipe->bf16()) << "false replaces true";
  EXPECT_EQ(recipe->optimizer().kind(), v1::Optimizer::SGD);
  EXPECT_DOUBLE_EQ(recipe->optimizer().lr(), 2);
  ASSERT_EQ(recipe->sizes_size(), 1) << "a list replaces the base's";
  EXPECT_EQ(recipe->sizes(0).height(), 9);
  EXPECT_EQ(recipe->data().name(), "d");
  EXPECT_THAT(recipe->data().digests(), ElementsAre("2"));
}

TEST(FindRecipe, RefusesMissingAndCircularBases) {
  ScratchFolder folder;
  const std::string file = folder.path() / "mine.textproto";
  std::ofstream(file) << "name: \"mine\" base: \"no-such\"";
  EXPECT_THAT(Message(FindRecipe(file).status()), HasSubstr("there is no recipe \"no-such\""));
  std::ofstream(file) << "name: \"mine\" base: \"" << file << "\"";
  EXPECT_THAT(Message(FindRecipe(file).status()), HasSubstr("more than 4 recipes in a row have a base"));
  v1::Recipe recipe = SmallRecipe();
  EXPECT_THAT(Message(ApplyOverride("base=kv-mnist", recipe)), HasSubstr("only in the file of a recipe"));
}

TEST(ApplyOverride, SetsScalarsEnumsStringsListsAndMessages) {
  v1::Recipe recipe = SmallRecipe();
  for (const char* assignment :
       {"optimizer.lr=5e-4", "optimizer.kind=SGD", "name=a = \"b\"", "evaluation_sizes=24,32x24", "seed=9",
        "sizes=[{height: 8 width: 8 weight: 1}]", "model_overrides.eit.depth=3", "bf16=true", "schedule={min_lr: 1}"}) {
    const absl::Status status = ApplyOverride(assignment, recipe);
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_DOUBLE_EQ(recipe.optimizer().lr(), 5e-4);
  EXPECT_EQ(recipe.optimizer().kind(), v1::Optimizer::SGD);
  EXPECT_EQ(recipe.name(), "a = \"b\"");
  EXPECT_THAT(recipe.evaluation_sizes(), ElementsAre("24", "32x24"));
  EXPECT_EQ(recipe.seed(), 9u);
  ASSERT_EQ(recipe.sizes_size(), 1);
  EXPECT_EQ(recipe.sizes(0).height(), 8);
  EXPECT_EQ(recipe.model_overrides().eit().depth(), 3);
  EXPECT_EQ(recipe.model_overrides().eit().width(), 24) << "a field beside the one that was set";
  EXPECT_TRUE(recipe.bf16());
  EXPECT_EQ(recipe.schedule().warmup_steps(), 0) << "a message is replaced as a whole";
}

TEST(ApplyOverride, ErrorsNameTheInvalidPart) {
  v1::Recipe recipe = SmallRecipe();
  EXPECT_THAT(Message(ApplyOverride("optimizer.lr", recipe)), HasSubstr("path=value"));
  EXPECT_THAT(Message(ApplyOverride("optimizer.rate=1", recipe)), HasSubstr("weight_decay"));
  EXPECT_THAT(Message(ApplyOverride("optimiser.lr=1", recipe)), HasSubstr("\"optimiser\""));
  EXPECT_THAT(Message(ApplyOverride("batch.size=1", recipe)), HasSubstr("not a single message"));
  EXPECT_THAT(Message(ApplyOverride("batch=many", recipe)), HasSubstr("batch=many"));
  EXPECT_THAT(Message(ApplyOverride("optimizer.kind=LION", recipe)),
              HasSubstr("\"kind=LION\": there is no such kind; allowed: ADAMW, SGD, ADAM"));
}

TEST(ApplyOverride, RefusesAZeroThatTheModelWouldIgnore) {
  v1::Recipe recipe = SmallRecipe();
  EXPECT_THAT(
      Message(ApplyOverride("model_overrides.kv.depth=0", recipe)),
      HasSubstr("\"model_overrides.kv.depth=0\" changes nothing: with this value the model keeps its own depth"));
  EXPECT_TRUE(ApplyOverride("model_overrides.eit.positions=false", recipe).ok()) << "a field with presence";
  EXPECT_TRUE(ApplyOverride("optimizer.weight_decay=0", recipe).ok());
  ASSERT_TRUE(ApplyOverride("model_overrides.kv.depth=3", recipe).ok());
  EXPECT_TRUE(ApplyOverride("model_overrides.kv.depth=0", recipe).ok()) << "takes the 3 back";
}

TEST(ApplyOverride, AcceptsCommasInEveryListOfPlainValues) {
  v1::Recipe recipe = SmallRecipe();
  ASSERT_TRUE(ApplyOverride("model_overrides.preprocessing.mean=0.485,0.25,0.5", recipe).ok());
  EXPECT_THAT(recipe.model_overrides().preprocessing().mean(), ElementsAre(0.485F, 0.25F, 0.5F));
  ASSERT_TRUE(ApplyOverride("model_overrides.preprocessing.mean=0.5", recipe).ok());
  EXPECT_THAT(recipe.model_overrides().preprocessing().mean(), ElementsAre(0.5F));
  ASSERT_TRUE(ApplyOverride("schedule.milestones=1,2.5", recipe).ok());
  EXPECT_THAT(recipe.schedule().milestones(), ElementsAre(1, 2.5));
}

TEST(ValidateRecipe, NamesFieldValueAndRange) {
  const std::pair<const char*, const char*> faults[] = {
      {"optimizer.lr=0", "optimizer.lr is 0"},
      {"epochs=0", "epochs is 0"},
      {"label_smoothing=1", "label_smoothing is 1"},
      {"batch=0", "batch is 0"},
      {"schedule.min_lr=1", "schedule.min_lr is 1"},
      {"optimizer.momentum=1", "optimizer.momentum is 1"},
      {"augmentation.min_scale=0", "min_scale is 0"},
      {"evaluation_sizes=big", "\"big\" is not a size"},
      {"dropout=1", "dropout is 1"},
      {"dropout=0.0015", "dropout is 0.0015"},
      {"dropouts.mlp=0.0019", "dropouts.mlp is 0.0019"},
      {"drop_path=-0.1", "drop_path is -0.1"},
      {"evaluation_crop=1.5", "evaluation_crop is 1.5"},
      {"schedule={kind: TIMM_COSINE warmup_steps: 3}", "schedule.warmup_steps is 3"},
      {"ema_decay=1", "ema_decay is 1"},
      {"mixing.mixup_alpha=-1", "mixing.mixup_alpha is -1"},
      {"schedule.kind=MULTI_STEP", "schedule.milestones is 0"},
      {"schedule={kind: INVERSE_SQUARE_ROOT}", "schedule.warmup_steps is 0"},
      {"optimizer.nesterov=true", "optimizer.nesterov is true"},
      {"optimizer.momentum=0.9", "optimizer.momentum is 0.9; allowed: 0, except for SGD"},
      {"optimizer={kind: SGD lr: 1 beta2: 0.9}", "optimizer.kind is SGD; allowed: ADAMW or ADAM with beta1"},
      {"schedule.gamma=0.5", "schedule.gamma is 0.5; allowed: unset, except for MULTI_STEP"},
      {"optimizer.layer_decay=2", "optimizer.layer_decay is 2"},
      {"optimizer.rate_by_pattern=[{pattern: '*' multiplier: -1}]", "optimizer.rate_by_pattern.multiplier is -1"},
      {"distillation={}", "distillation.teacher is empty"},
      {"validation_share=0.1", "validation_share is 0.1"},
      {"sequence.model=task-qkv-d64-l2", "model is set"},
      {"model=", "model is empty"},
  };
  for (const auto& [assignment, message] : faults) {
    v1::Recipe recipe = SmallRecipe();
    ASSERT_TRUE(ApplyOverride(assignment, recipe).ok()) << assignment;
    EXPECT_EQ(ValidateRecipe(recipe).code(), absl::StatusCode::kInvalidArgument) << assignment;
    EXPECT_THAT(Message(ValidateRecipe(recipe)), HasSubstr(message));
  }
  EXPECT_TRUE(ValidateRecipe(SmallRecipe()).ok());
}

TEST(ConfigOf, OverridesReplaceListsInsteadOfAppending) {
  v1::Recipe recipe = SmallRecipe();
  recipe.mutable_model_overrides()->mutable_preprocessing()->add_mean(0.25f);
  const auto config = ConfigOf(recipe);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->preprocessing().mean(), ElementsAre(0.25f));
  EXPECT_EQ(config->preprocessing().std_size(), 3) << "kept from the zoo";
  EXPECT_EQ(config->eit().width(), 24);
  EXPECT_EQ(config->eit().pool(), 4) << "kept from the zoo";
}

TEST(ParseSize, ReadsHeightFirst) {
  EXPECT_EQ(*ParseSize("24"), (Size{24, 24}));
  EXPECT_EQ(*ParseSize("32x24"), (Size{32, 24}));
  for (const char* text : {"", "x", "24x", "0", "-3", "24x24x24", "9000"}) {
    EXPECT_EQ(ParseSize(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace vitrine
