// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/engine/plan/plan.h"
#include "tests/models/engine/compiled.h"

namespace vitrine::engine {
namespace {

LoweredPlan Chain(std::vector<Buffer> buffers, const std::vector<std::pair<std::vector<int>, int>>& steps) {
  LoweredPlan plan;
  plan.buffers = std::move(buffers);
  for (const auto& [reads, writes] : steps) {
    ConcatenateStep step = {.x = {}, .y = {writes, 0, 1}};
    for (const int buffer : reads) step.x.push_back({buffer, 0, 1});
    plan.steps.push_back(MakePlanStep("step", step));
  }
  plan.logits = {steps.back().second, 0, 1};
  PlanArena(plan);
  return plan;
}

TEST(PlanArena, BuffersWithDisjointLifetimesShareASlot) {
  const LoweredPlan plan =
      Chain({{RowsOf::kTokens, 8}, {RowsOf::kTokens, 4}, {RowsOf::kTokens, 16}, {RowsOf::kTokens, 2}},
            {{{}, 0}, {{0}, 1}, {{1}, 2}, {{2}, 3}});
  EXPECT_EQ(plan.buffers[0].slot, plan.buffers[2].slot);
  EXPECT_EQ(plan.buffers[1].slot, plan.buffers[3].slot);
  ASSERT_EQ(plan.slots.size(), 2u);
  EXPECT_EQ(plan.slots[static_cast<size_t>(plan.buffers[0].slot)].width, 16);
  EXPECT_EQ(plan.slots[static_cast<size_t>(plan.buffers[1].slot)].width, 4);
}

// A buffer takes the smallest free slot that is large enough. If no free slot is large enough, the buffer takes the
// slot that must grow least.
TEST(PlanArena, ABufferGetsTheBestFittingSlot) {
  // When the last buffer is written, slots of widths 8 and 16 are free, and a slot of width 2 holds the input of the
  // step.
  const auto slot_of_last = [](int64_t width) {
    const LoweredPlan plan =
        Chain({{RowsOf::kTokens, 8}, {RowsOf::kTokens, 16}, {RowsOf::kTokens, 2}, {RowsOf::kTokens, width}},
              {{{}, 0}, {{0}, 1}, {{0, 1}, 2}, {{2}, 3}});
    EXPECT_EQ(plan.slots.size(), 3u);
    EXPECT_EQ(plan.buffers[0].slot, 0);
    EXPECT_EQ(plan.buffers[1].slot, 1);
    return plan.buffers[3].slot;
  };
  EXPECT_EQ(slot_of_last(6), 0) << "wastes 2 instead of 10";
  EXPECT_EQ(slot_of_last(8), 0);
  EXPECT_EQ(slot_of_last(9), 1) << "the other one would have to grow";
  EXPECT_EQ(slot_of_last(18), 1) << "grows by 2 instead of 10";
}

TEST(PlanArena, ABufferKeepsItsSlotUntilItsLastRead) {
  const LoweredPlan plan =
      Chain({{RowsOf::kTokens, 8}, {RowsOf::kTokens, 8}, {RowsOf::kTokens, 8}, {RowsOf::kTokens, 8}},
            {{{}, 0}, {{0}, 1}, {{1}, 2}, {{0, 2}, 3}});
  const int kept = plan.buffers[0].slot;
  for (const int other : {1, 2, 3}) EXPECT_NE(plan.buffers[static_cast<size_t>(other)].slot, kept) << other;
}

TEST(PlanArena, RowsOfAnotherKindGetTheirOwnSlot) {
  const LoweredPlan plan =
      Chain({{RowsOf::kTokens, 8}, {RowsOf::kImages, 8}, {RowsOf::kCells, 8}}, {{{}, 0}, {{0}, 1}, {{1}, 2}});
  EXPECT_EQ(plan.slots.size(), 3u);
}

// In every compiled model, no step overwrites a buffer that a later step reads.
TEST(PlanArena, NoBufferIsOverwrittenBeforeItsLastRead) {
  for (const testing::EngineForm& form : testing::EngineForms()) {
    const testing::Compiled compiled(form.config, cpu::CpuPath::kPortable);
    const Plan& plan = compiled.engine->plan();
    std::vector<int> holds(plan.slots.size(), -1);  // by slot: the buffer in it
    for (const auto& step : plan.steps) {
      for (const Operand& read : step->reads) {
        ASSERT_EQ(holds[static_cast<size_t>(plan.buffers[static_cast<size_t>(read.buffer)].slot)], read.buffer)
            << form.name << " at " << step->name;
      }
      holds[static_cast<size_t>(plan.buffers[static_cast<size_t>(step->writes.buffer)].slot)] = step->writes.buffer;
    }
    EXPECT_EQ(holds[static_cast<size_t>(plan.buffers[static_cast<size_t>(plan.logits.buffer)].slot)],
              plan.logits.buffer);
  }
}

}  // namespace
}  // namespace vitrine::engine
