// SPDX-License-Identifier: Apache-2.0
// A program's weights against those of the modules: names, shapes, order. What they start as is compared in
// tests/reference.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "models/families/family.h"
#include "models/model.h"
#include "models/zoo.h"
#include "tests/models/pictures.h"
#include "tests/models/small_forms.h"

namespace vitrine {
namespace {

using program::Program;
using program::Weight;

struct Subject {
  std::string name;
  v1::ModelConfig config;
};

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  for (const ZooRow& row : Zoo()) {
    if (absl::IsUnimplemented(ProgramOf(row.config).status())) continue;  // a family that has modules alone
    subjects.push_back({std::string(row.name), row.config});
  }
  for (const testing::SmallForm& form : testing::SmallForms()) subjects.push_back({form.name, form.config});
  return subjects;
}

std::vector<NamedTensor> TensorsOf(const Model& model) {
  std::vector<NamedTensor> tensors = model.Parameters();
  for (NamedTensor& buffer : model.Buffers()) tensors.push_back(std::move(buffer));
  return tensors;
}

TEST(ProgramWeights, AreTheModulesForTheWholeZoo) {
  for (const Subject& subject : Subjects()) {
    SCOPED_TRACE(subject.name);
    const absl::StatusOr<Program> program = ProgramOf(subject.config);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto model = MakeModel(subject.config, /*seed=*/0, at::kMeta);
    ASSERT_TRUE(model.ok()) << model.status();
    const std::vector<NamedTensor> tensors = TensorsOf(**model);
    const size_t parameters = (*model)->Parameters().size();
    ASSERT_EQ(program->weights().size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Weight& weight = program->weights()[i];
      ASSERT_EQ(weight.name, tensors[i].name) << "place " << i;
      EXPECT_EQ(weight.shape, tensors[i].tensor.sizes().vec()) << weight.name;
      EXPECT_EQ(weight.trained, i < parameters) << weight.name;
    }
  }
}

TEST(Programs, KnowTheCellAndTheClassTokenOfTheirModel) {
  for (const Subject& subject : Subjects()) {
    if (subject.config.has_null()) continue;
    const Program program = ProgramOf(subject.config).value();
    const std::unique_ptr<Model> model = MakeModel(subject.config, /*seed=*/0, at::kMeta).value();
    EXPECT_EQ(program.cell(), model->cell()) << subject.name;
    EXPECT_EQ(program.has_class_token() ? 1 : 0, model->prefix_tokens()) << subject.name;
    EXPECT_EQ(program.info(program.logits()).columns, subject.config.classes()) << subject.name;
    EXPECT_EQ(program.info(program.final_tokens()).columns, model->features().width) << subject.name;
  }
}

}  // namespace
}  // namespace vitrine
