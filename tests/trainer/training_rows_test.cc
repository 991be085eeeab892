// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish/training_rows.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace vitrine {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a recipe in which every part is switched on, so that each of its fields has an effect.
v1::Recipe Full() {
  v1::Recipe recipe;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(R"pb(
                                                      name: "full"
                                                      model: "vit-ti16"
                                                      optimizer { kind: SGD lr: 0.1 momentum: 0.9 }
                                                      schedule { kind: MULTI_STEP milestones: 2 warmup_steps: 1 }
                                                      batch: 16
                                                      epochs: 4
                                                      augmentation {
                                                        rand_augment { operations: 2 magnitude: 9 }
                                                        random_erasing { probability: 0.25 }
                                                      }
                                                      dropout: 0.1
                                                      dropouts { position: 0.1 }
                                                      mixing { mixup_alpha: 0.8 cutmix_alpha: 1 }
                                                    )pb",
                                                    &recipe));
  return recipe;
}

std::string RowsOf(const v1::Recipe& recipe) {
  return TrainingRows(recipe, {.samples_per_step = 16});
}

// Sets a field to a value that differs from its value in Full().
void Change(Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, 3);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, 3);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetFloat(&message, &field, 0.375F);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.is_repeated() ? reflection.AddDouble(&message, &field, 3)
                                 : reflection.SetDouble(&message, &field, 0.375);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, 2);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return static_cast<void>(reflection.AddMessage(&message, &field));
    default:
      ADD_FAILURE() << field.full_name() << " is of a type that this test does not set";
  }
}

// Expects that each field of `part`, a part of `recipe`, changes the result of TrainingRows, except the fields named in
// `elsewhere`.
void ExpectEveryField(v1::Recipe& recipe, Message& part, const std::set<std::string>& elsewhere = {}) {
  const std::string before = RowsOf(recipe);
  const auto& descriptor = *part.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const bool is_part = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated();
    if (is_part || elsewhere.contains(field.name())) continue;
    std::string saved = part.SerializeAsString();
    Change(part, field);
    EXPECT_NE(RowsOf(recipe), before) << field.full_name();
    ASSERT_TRUE(part.ParseFromString(saved));
  }
}

TEST(TrainingRows, ShowEveryFieldThatChangesTheWeights) {
  v1::Recipe recipe = Full();
  ExpectEveryField(recipe, *recipe.mutable_schedule(), {"min_lr"});
  ExpectEveryField(recipe, *recipe.mutable_augmentation());
  ExpectEveryField(recipe, *recipe.mutable_augmentation()->mutable_rand_augment());
  ExpectEveryField(recipe, *recipe.mutable_augmentation()->mutable_random_erasing());
  ExpectEveryField(recipe, *recipe.mutable_dropouts());
  ExpectEveryField(recipe, *recipe.mutable_mixing());
  ExpectEveryField(recipe, *recipe.mutable_optimizer(), {"kind", "beta1", "beta2", "epsilon"});
  recipe.mutable_schedule()->set_kind(v1::Schedule::COSINE);
  recipe.mutable_optimizer()->set_kind(v1::Optimizer::ADAMW);
  ExpectEveryField(recipe, *recipe.mutable_schedule(), {"kind", "milestones", "gamma"});
  ExpectEveryField(recipe, *recipe.mutable_optimizer(), {"kind", "momentum", "nesterov"});
  // These fields have their own rows on the model card, or do not change the weights.
  ExpectEveryField(recipe, recipe,
                   {"name", "base", "model", "description", "batch", "epochs", "ema_decay", "bf16", "seed", "storage",
                    "evaluation_sizes", "evaluation_crop", "evaluate_every", "evaluate_every_steps", "corrupt_limit",
                    "block_norms"});
}

TEST(TrainingRows, ShowModelSettingsInOneLine) {
  v1::Recipe recipe = Full();
  recipe.mutable_model_overrides()->set_classes(3);
  EXPECT_THAT(RowsOf(recipe), HasSubstr("| model settings | classes: 3 |\n"));
}

TEST(TrainingRows, OmitDisabledSettings) {
  v1::Recipe recipe;
  recipe.set_batch(16);
  EXPECT_THAT(RowsOf(recipe),
              AllOf(HasSubstr("| augmentation | none |"), HasSubstr("dropout 0, drop path 0"), Not(HasSubstr("mixing")),
                    Not(HasSubstr("held out")), Not(HasSubstr("clipped to"))));
}

}  // namespace
}  // namespace vitrine
